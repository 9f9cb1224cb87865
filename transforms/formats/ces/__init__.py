"""CES's conversations, evaluations and session logs."""
