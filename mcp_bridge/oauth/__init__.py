"""OAuth for MCP clients: a person lets an app act as one of their agents, and the app gets tokens for /mcp."""
