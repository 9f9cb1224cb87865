"""The subcommand `check`: says whether a store is sound."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from time import time_ns

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import complain, counted, printable, say


def _add_arguments(parser: ArgumentParser) -> None:
    del parser


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.checks.checking import checks_of, not_checked, problems_of
    from turnwise.pipeline.store_comparison.checks import COMPARED_CHECKS

    found, now = 0, time_ns()
    with closing(open_store(options.store, read_only=True)) as store:
        for check in (*checks_of(store), *COMPARED_CHECKS):
            problems = problems_of(store, check, now)
            found += len(problems)
            say(f"{check.name}: {counted(len(problems), 'problem') if problems else 'sound'}")
            for line in problems:
                complain(printable(line))
        for line in not_checked(store):
            say(f"not checked: {line}")
    return 1 if found else 0


CHECK = StoreCommand(
    "check",
    "say whether a store is sound",
    _add_arguments,
    _run,
    "Exit status: 0, all was checked and is sound; 1, something is wrong, or could not be checked.",
)
