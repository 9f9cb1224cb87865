"""Judgements by several models: panels, which vote, and cascades, which ask a cheap judge first."""
