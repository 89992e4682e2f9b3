"""People, agents, keys, links and who is calling."""
