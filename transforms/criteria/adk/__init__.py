"""google-adk's criteria of answers and of whole conversations."""
