"""Messages of the CES v1beta evaluation service, by topic."""
