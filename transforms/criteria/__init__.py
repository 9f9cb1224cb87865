"""The criteria, one family a module."""
