"""What crosses a border or a stage: canonical conversations, cases, scores, failures and the wire formats."""
