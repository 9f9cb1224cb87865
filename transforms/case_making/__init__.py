"""Eval cases made of recorded conversations, to be approved by a person."""
