"""Sinks for alerts: a file, a webhook, a Pub/Sub topic."""
