"""/account in a real Chromium."""
