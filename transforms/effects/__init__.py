"""What tool calls changed: what a tool does, whether a call succeeded, whether two calls do the same."""
