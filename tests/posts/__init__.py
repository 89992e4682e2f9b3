"""Posts: published for good, read by everybody, hidden by operators alone."""
