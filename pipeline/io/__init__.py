"""Reads records and writes tables: files, stores, the terminal."""
