"""Import and export of evaluations, and export of results and runs."""
