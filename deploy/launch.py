"""Starts `turnwise run` with the arguments that a Flex Template or Airflow's Beam operator passes.

A parameter of a template always has a value, so that a flag comes as `--overwrite=true`.
"""

import sys

from turnwise.pipeline.cli.arguments import command_parser
from turnwise.pipeline.cli.main import run_command

if __name__ == "__main__":
    flags = {
        option
        for action in command_parser()._actions
        if action.nargs == 0
        for option in action.option_strings
    }
    arguments = ["run"]
    for argument in sys.argv[1:]:
        name, _, value = argument.partition("=")
        if name not in flags or value.lower() not in ("true", "false"):
            arguments.append(argument)
        elif value.lower() == "true":
            arguments.append(name)
    sys.argv[1:] = arguments
    run_command()
