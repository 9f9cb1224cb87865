"""The streaming job on other runners, with Beam's connectors."""
