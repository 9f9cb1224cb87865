"""Session logs of coding agents."""
