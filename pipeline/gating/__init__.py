"""The gate: its rules applied to a finished run, and its reports for CI."""
