"""Looks after a store: what is deleted, copied, listed and checked."""
