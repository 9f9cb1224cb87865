"""Evaluation of one conversation: scores, verdict, result and rows."""
