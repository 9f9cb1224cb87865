"""CES's own: judgements, verdicts, results and aggregated metrics."""
