"""The workspace in a real browser, with script and without."""
