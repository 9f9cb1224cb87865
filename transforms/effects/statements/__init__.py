"""Numbers, dates, identifiers and claims about actions in texts."""
