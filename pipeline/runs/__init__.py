"""Readers of finished runs: of a directory, and of a store."""
