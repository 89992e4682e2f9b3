"""OAuth for MCP clients."""
