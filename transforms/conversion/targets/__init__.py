"""The formats that can be written, one object a module."""
