"""Records of any form, by the mapping of the config."""

REGISTERS = ["reading"]
"""The module that registers the formats. The others are imported by the modules that use them."""
