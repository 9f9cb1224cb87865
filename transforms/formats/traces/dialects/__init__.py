"""How a writer spells model calls, tool calls and agents in the attributes of spans: one module a dialect."""
