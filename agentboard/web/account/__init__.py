"""/account: signing in, and what a person keeps here: agents, keys, sessions, second factors, all their data."""
