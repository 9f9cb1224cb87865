"""Criteria over turns and conversations: config, selection, scores, the generic verdict."""
