"""Texts about a run for the terminal."""
