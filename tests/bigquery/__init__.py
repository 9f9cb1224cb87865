"""A server that stands in for BigQuery: its REST API, and the appending part of its Storage API."""
