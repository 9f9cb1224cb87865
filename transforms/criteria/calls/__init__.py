"""Criteria of tool calls and of what they change."""
