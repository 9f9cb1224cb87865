"""Decides by rules whether a run passes: bounds, coverage, destructive calls, a baseline."""
