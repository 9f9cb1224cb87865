"""Effects of tool calls: effect of a tool, outcome of a call, equivalence of calls."""
