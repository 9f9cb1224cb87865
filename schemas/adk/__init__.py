"""Models of google-adk's files: eval sets, eval results, sessions."""
