"""Metrics: additive state, quantiles, tests, slices and their rows."""
