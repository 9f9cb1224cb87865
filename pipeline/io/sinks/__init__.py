"""Sinks of tables, one object each. They do not import Beam, so that short commands start fast."""
