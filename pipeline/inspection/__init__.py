"""Inspections as text."""
