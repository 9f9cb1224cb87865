"""The command `turnwise store`, with one module for each of its subcommands."""
