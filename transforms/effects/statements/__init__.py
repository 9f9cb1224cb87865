"""What a text says: numbers, dates, identifiers, and claims about actions."""
