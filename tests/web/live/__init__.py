"""Open pages that hear of changes."""
