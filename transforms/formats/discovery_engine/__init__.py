"""Discovery Engine's answers and sessions, and the flat spelling of grounded answers."""
