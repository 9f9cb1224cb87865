"""`python -m pipeline`: the same as the command `turnwise`."""

from pipeline.main import run_command

run_command()
