"""Files of converted records."""
