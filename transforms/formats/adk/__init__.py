"""google-adk's eval sets, eval results, sessions and events."""
