"""Open pages in a real Chromium."""
