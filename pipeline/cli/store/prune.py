"""The subcommand `prune`: deletes old runs."""

import re
from argparse import ArgumentParser, Namespace
from contextlib import closing
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import complain, counted, printable, say
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from turnwise.pipeline.store.database import Store

_DAY_NANOS = 24 * 3600 * 10**9
_AGE = re.compile(r"([1-9][0-9]{0,4})d")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--older_than", required=True, metavar="DAYS",
        help="delete runs that ended so many days ago, such as 90d (required)",
    )  # fmt: skip
    parser.add_argument(
        "--dry_run", action="store_true", help="say what would be deleted, and change nothing"
    )


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.database import open_store
    from turnwise.pipeline.store.pruning import count_rows_of, old_runs, prune
    from turnwise.schemas.proto.scalars import nanos_timestamp

    age = _AGE.fullmatch(options.older_than)
    if not age:
        raise ConfigError(f"--older_than {options.older_than}: is no number of days such as 90d")
    now = time_ns()
    before = now - int(age[1]) * _DAY_NANOS
    with closing(open_store(options.store, read_only=options.dry_run)) as store:
        runs = store.read(lambda connection: old_runs(connection, before, now))
        counts = store.read(lambda connection: count_rows_of(connection, [run.name for run in runs]))
        for run in runs:
            say(printable(f"{nanos_timestamp(run.nanos)[:10]} {run.state:<9} {run.name}"))
        rows = ", ".join(f"{table} {number}" for table, number in counts.items())
        what = f"rows to delete: {rows}" if runs else "no run is that old"
        say(f"{counted(len(runs), 'run')} before {nanos_timestamp(before)[:10]}: {what}")
        if options.dry_run:
            return 0
        done = prune(store, before, now)
        say(f"{counted(len(done), 'run')} deleted")
        left = [f"{run.name}: was written meanwhile, and is not deleted" for run in runs if run not in done]
        return tell_left([*left, *overwrite(store)])


def overwrite(store: "Store") -> list[str]:
    """Overwrites what was deleted; returns where it is left, one line each."""
    from turnwise.pipeline.store.erasure import overwrite_deleted
    from turnwise.pipeline.store.urls import StoreError

    try:
        is_done = overwrite_deleted(store)
    except StoreError as error:
        return [f"what was deleted may be in free pages of the file: {error}"]
    return [] if is_done else ["what was deleted is in the -wal file: another process reads; try again"]


def tell_left(left: list[str]) -> int:
    """Prints what is left in the store; returns the exit status."""
    for line in left:
        complain(printable(f"left: {line}"))
    return 1 if left else 0


PRUNE = StoreCommand(
    "prune",
    "delete old runs",
    _add_arguments,
    _run,
    "A run that may still be written is not deleted. Evaluations stay. "
    "Exit status: 0, done; 1, something is left.",
)
