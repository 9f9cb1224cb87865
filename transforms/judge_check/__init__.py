"""Measures a judge on questions of one's own data: repeated votes, other order, other words."""
