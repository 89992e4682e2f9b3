"""Posts in a real browser, which would run what the pages let through."""
