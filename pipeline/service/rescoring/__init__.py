"""Scores the recorded conversations of evaluations again, as a new run."""
