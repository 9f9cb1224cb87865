"""Conversion, inspection and checks of judges."""
