"""/account: signing in, agents and keys, sessions, second factors, taking everything along, leaving."""
