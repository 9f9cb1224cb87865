"""Named judges, one object each."""
