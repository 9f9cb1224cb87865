"""Rule-based judgements without a model."""
