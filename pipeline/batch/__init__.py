"""The batch job: its graph, its counts and its report."""
