"""Defines a subcommand of `turnwise store`."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import NamedTuple


class StoreCommand(NamedTuple):
    """One subcommand; its module imports the store late, so that help is fast.

    Attributes:
        name: Its name.
        summary: Its line in the help.
        add_arguments: Adds its options to a parser that has `--store`.
        run: Runs it with its options and returns the exit status.
        epilog: The end of its own help.
    """

    name: str
    summary: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    epilog: str = ""
