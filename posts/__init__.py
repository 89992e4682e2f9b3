"""Public posts and replies."""
