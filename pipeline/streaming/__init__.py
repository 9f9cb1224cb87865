"""The streaming job: its sources, its engine in one process, and Beam's connectors on other runners."""
