"""The streaming job in one process: its engine, its storage and its progress."""
