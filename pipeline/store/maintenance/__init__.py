"""Looks after a store: what is deleted, moved, copied and checked."""
