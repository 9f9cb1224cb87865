"""Evaluations, results and failures in a database."""
