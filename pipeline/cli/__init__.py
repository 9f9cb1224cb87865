"""The command line: commands, options and their help."""
