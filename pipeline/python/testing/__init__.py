"""`turnwise.testing` and the plugin of pytest."""
