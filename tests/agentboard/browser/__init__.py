"""The operators' pages in a real Chromium."""
