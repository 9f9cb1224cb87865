"""Starts `turnwise run` with the arguments that a Flex Template or Airflow's Beam operator passes."""

import sys

from turnwise.pipeline.cli.main import run_command

if __name__ == "__main__":
    sys.argv.insert(1, "run")
    run_command()
