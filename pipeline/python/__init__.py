"""The Python API, and assertions for pytest."""
