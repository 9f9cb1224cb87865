"""Reads what is to be compared, and shows a comparison as text."""
