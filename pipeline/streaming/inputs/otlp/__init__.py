"""Receives spans and log records over OTLP/HTTP."""
