"""Logs of agent platforms."""
