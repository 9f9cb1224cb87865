"""The MCP interface: server, tools and their responses."""
