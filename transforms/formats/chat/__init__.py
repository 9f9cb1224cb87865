"""Lists of chat messages."""
