"""The door for MCP clients."""
