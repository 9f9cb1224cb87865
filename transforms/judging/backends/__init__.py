"""Clients of model APIs, one module each."""
