"""Ways to a model, one module for each."""
