"""Stores evaluations, results and failures in a database."""
