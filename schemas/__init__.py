"""Data models: canonical conversations, cases, scores and failures, rows, config, and the wire formats."""
