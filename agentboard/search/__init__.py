"""Searching encrypted text: words, indexes in memory, and keeping those up to date."""
