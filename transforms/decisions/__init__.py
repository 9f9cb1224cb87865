"""What people decide by: comparisons, gates, calibration, reports and new cases."""
