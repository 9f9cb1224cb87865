"""The evaluation service over MCP and REST."""
