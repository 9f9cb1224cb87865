"""Discovery Engine's answers and sessions, and the flat spelling of grounded answers."""

REGISTERS = ["format"]
"""The modules that register formats. The others are imported when an answer is read."""
