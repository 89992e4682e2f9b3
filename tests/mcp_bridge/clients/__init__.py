"""Real MCP clients at a real server: their programs, and one story that each of them lives through."""
