"""The subcommand `check`: says whether a store is sound."""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import complain, counted, printable, say


def _add_arguments(parser: ArgumentParser) -> None:
    del parser


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.database import open_store
    from turnwise.pipeline.store.pruning import problems_of

    with closing(open_store(options.store, read_only=True)) as store:
        found = problems_of(store)
    for name, problems in found.items():
        say(f"{name}: {counted(len(problems), 'problem') if problems else 'sound'}")
        for line in problems:
            complain(printable(line))
    return 1 if any(found.values()) else 0


CHECK = StoreCommand(
    "check",
    "say whether a store is sound",
    _add_arguments,
    _run,
    "Exit status: 0, all was checked and is sound; 1, something is wrong, or could not be checked.",
)
