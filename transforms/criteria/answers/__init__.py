"""Criteria of grounded answers: citations, grounding, safety ratings, refusals."""
