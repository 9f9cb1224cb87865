"""CES's criteria."""
