"""The MCP interface: tools, their arguments and their answers."""
