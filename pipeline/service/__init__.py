"""The evaluation service: functions over a store, with an MCP and a REST interface."""
