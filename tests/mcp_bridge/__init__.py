"""Tests of the door for MCP clients."""
