"""Readers of logs and eval cases: one module a format, each turns parsed JSON into canonical models."""
