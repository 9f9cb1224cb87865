"""Budget, pace, counts and estimates of a judge."""
