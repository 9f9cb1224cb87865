"""Rows of BigQuery as log records."""
