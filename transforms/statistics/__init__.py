"""Tests, intervals and estimates, from numbers alone."""
