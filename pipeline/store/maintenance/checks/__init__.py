"""Says whether a store is sound, one module for each thing that is compared."""
