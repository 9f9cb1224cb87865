"""Discovery Engine's own: citations, annotations and checks."""
