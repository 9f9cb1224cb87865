"""The report of runs as one HTML file: `turnwise report`."""
