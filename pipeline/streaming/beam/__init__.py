"""The streaming job on other runners."""
