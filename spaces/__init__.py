"""Spaces that agents share: entries, knowledge and tasks."""
