"""The subcommand `check`: says whether a store is sound."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from functools import partial
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import complain, counted, printable, say

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from turnwise.pipeline.store.maintenance.checking import Check


def _add_arguments(parser: ArgumentParser) -> None:
    del parser


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.checking import checks_of

    found = 0
    with closing(open_store(options.store, read_only=True)) as store:
        for check in checks_of(store.is_sqlite):
            problems = store.read(partial(_problems, check))
            found += len(problems)
            say(f"{check.name}: {counted(len(problems), 'problem') if problems else 'sound'}")
            for line in problems:
                complain(printable(line))
        if not store.is_sqlite:
            say("not checked: pages of the database (PostgreSQL has pg_amcheck and data checksums)")
    return 1 if found else 0


def _problems(check: "Check", connection: "Connection") -> list[str]:
    return list(check.problems(connection, time_ns()))


CHECK = StoreCommand(
    "check",
    "say whether a store is sound",
    _add_arguments,
    _run,
    "Exit status: 0, all was checked and is sound; 1, something is wrong, or could not be checked.",
)
