"""Spans of traces, joined into conversations: one core for all containers and all dialects."""
