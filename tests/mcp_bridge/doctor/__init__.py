"""The connection doctor."""
