"""From the rows of runs to the data of a report. Pure functions."""
