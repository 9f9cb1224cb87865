"""Records of any form, by the mapping of the config."""
