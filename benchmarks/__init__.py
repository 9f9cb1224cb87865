"""What turnwise costs, measured beside its alternatives."""
