"""The bridge's pages for people."""
