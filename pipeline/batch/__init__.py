"""The batch job."""
