"""Checks options and config files and converts them to typed settings."""
