"""Receipts, events and the versioned write that every domain shares."""
