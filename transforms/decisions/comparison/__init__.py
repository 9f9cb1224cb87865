"""Compares two versions, criterion by criterion."""
