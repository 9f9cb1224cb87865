"""The sinks of tables, one object each. Without Beam, so that help and usage errors come at once."""
