"""The formats that `turnwise convert` writes."""
