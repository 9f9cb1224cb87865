"""Sources of a stream in this process."""
