"""`python -m turnwise`: the same as the command `turnwise`."""

from turnwise.pipeline.cli.main import run_command

run_command()
