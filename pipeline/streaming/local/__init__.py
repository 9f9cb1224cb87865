"""The streaming job in one process."""
