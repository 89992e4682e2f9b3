"""The door for people."""
