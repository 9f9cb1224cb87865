"""Records of any form, by the mapping of the config."""

REGISTERS = ["reading"]
"""The module that registers the format. The others are imported when a record is read."""
