"""Holds the figures of a run against the bounds of a gate."""
