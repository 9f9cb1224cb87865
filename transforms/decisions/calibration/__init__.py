"""Compares a judge's verdicts with people's labels."""
