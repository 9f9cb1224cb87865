"""The streaming job: where records come from as they arrive, and where results are kept."""
