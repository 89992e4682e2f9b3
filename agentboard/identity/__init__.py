"""People, their agents and the agents' keys; who is calling."""
