"""The command `turnwise`."""

import gc
import sys
from collections.abc import Callable, Sequence

from schemas.config import ConfigError

_USAGE = """usage: turnwise COMMAND [options]

commands:
  run    score recorded conversations (turnwise run --help)
  serve  serve a store of evaluations and results over MCP and REST (turnwise serve --help)
"""


def run_command() -> None:
    """Runs the command line and exits with its status."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Runs one command.

    Returns:
        0: done; 1: the run failed a gate of its own, or a disk or network failed it; 2: something the user
        must put right, said in one line; 130: interrupted.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if argv else 2
    if argv[0] == "--version":
        from importlib.metadata import version

        print(version("turnwise"))
        return 0
    try:
        if argv[0] not in _COMMANDS:
            raise ConfigError(f"unknown command {argv[0]} (there are: {', '.join(_COMMANDS)})")
        return _COMMANDS[argv[0]](argv[1:])
    except ConfigError as error:
        print(f"turnwise: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"turnwise: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("turnwise: interrupted", file=sys.stderr)
        return 130


def _run(argv: Sequence[str]) -> int:
    if "-h" in argv or "--help" in argv:
        from pipeline.arguments import command_parser

        command_parser().print_help()
        return 0
    # Modules and the graph are made of objects that live to the end: nothing to collect until they are there.
    gc.disable()
    try:
        from pipeline.options import parse_options
        from pipeline.run import run

        return run(*parse_options(argv))
    finally:
        gc.enable()


def _serve(argv: Sequence[str]) -> int:
    from pipeline.serve.arguments import parse_serve_options

    options = parse_serve_options(argv)
    if options is None:
        return 0
    from pipeline.serve.command import serve

    return serve(options)


_COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"run": _run, "serve": _serve}
