"""Benchmarks of turnwise and its alternatives."""
