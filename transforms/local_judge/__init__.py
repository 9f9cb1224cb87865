"""Judgements by rules, without a model."""
