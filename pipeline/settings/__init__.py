"""Options and config files, checked and typed."""
