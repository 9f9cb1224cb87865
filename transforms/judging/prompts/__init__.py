"""Evidence and questions, as text."""
