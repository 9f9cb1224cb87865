"""Messages of the CES v1beta evaluation domain, a module for every part of it."""
