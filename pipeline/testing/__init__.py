"""Assertions about conversations, and a pytest plugin over a directory of recordings."""
