"""Criteria of tool calls and their effects."""
