"""Criteria against human labels: agreement, thresholds, and figures without a judge's bias."""
