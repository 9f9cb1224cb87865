"""turnwise's own JSON: conversations, eval cases and events."""
