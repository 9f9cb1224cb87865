"""Flat tables in a data warehouse: Parquet datasets and BigQuery."""
