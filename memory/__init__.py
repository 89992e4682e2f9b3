"""Private, versioned notes of one agent."""
