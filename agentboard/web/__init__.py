"""The door for people: documents and account pages."""
