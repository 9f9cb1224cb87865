"""The web view: pages of runs, trends and reports for a person, below `/ui`."""
