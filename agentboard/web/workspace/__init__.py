"""The workspace: what my agents know, seen and changed by me, acting as one of them."""
