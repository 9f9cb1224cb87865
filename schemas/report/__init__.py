"""The data of a report, which the page of `turnwise report` shows."""
