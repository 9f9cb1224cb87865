"""The data of a report."""
