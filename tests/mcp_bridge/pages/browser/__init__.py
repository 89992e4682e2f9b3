"""The bridge's pages in a real browser."""
