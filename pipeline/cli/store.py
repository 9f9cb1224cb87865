"""The subcommand `delete`: deletes a run, a conversation, a user or an evaluation."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from contextlib import closing
from functools import partial
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.cli.store.prune import overwrite, tell_left
from turnwise.pipeline.io.terminal import complain, printable, say
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from turnwise.pipeline.store.database import Store


_NOT_REACHED = (
    "not reached: output directories, reports, backups and caches of judges' replies; "
    "what was deleted comes back if its log is scored again"
)


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=("run", "conversation", "user", "evaluation"), help="what ID names")
    parser.add_argument("id", metavar="ID", help="id of a run, conversation or user, or a name in the store")
    parser.add_argument("--app", default="", metavar="NAME", help="app of the run or conversation")
    parser.add_argument(
        "--dry_run", action="store_true", help="say what would be deleted, and change nothing"
    )


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.database import open_store

    if not options.id.strip():
        raise ConfigError("ID is empty")
    if options.app and options.kind in ("user", "evaluation"):
        raise ConfigError(f"--app: is for runs and conversations; a {options.kind} is deleted in all apps")
    with closing(open_store(options.store)) as store:
        done, left = _deleted(store, options)
        left += [] if options.dry_run else overwrite(store)
    if not done:
        complain(printable(f"nothing of {options.kind} {options.id} was found in the store"))
    what = "would be deleted or emptied" if options.dry_run else "deleted or emptied"
    for table, number in sorted(done.items()):
        say(f"{table}: {number} {what}")
    say(_NOT_REACHED)
    return tell_left(left) or int(not done)


def _deleted(store: "Store", options: Namespace) -> tuple[Counter[str], list[str]]:
    """Deletes what is named; returns table -> number of rows, and what of it is left, one line each."""
    from turnwise.pipeline.store.erasure import (
        delete_evaluation,
        delete_subject,
        evaluations_naming,
        find_conversation,
        find_user,
    )

    if options.kind == "run":
        return _deleted_run(store, options), []
    change = store.undone if options.dry_run else store.write
    if options.kind == "evaluation":
        return change(partial(delete_evaluation, name=options.id)), []
    if options.kind == "user":
        subject = store.read(partial(find_user, user=options.id))
    else:
        subject = store.read(partial(find_conversation, name=options.id, app=options.app))
    done = change(partial(delete_subject, subject=subject))
    naming = store.read(partial(evaluations_naming, ids=subject.ids))
    return done, [f"{name}: names it; turnwise store delete evaluation deletes it" for name in naming]


def _deleted_run(store: "Store", options: Namespace) -> Counter[str]:
    from turnwise.pipeline.store.pruning import count_rows_of, delete_run, find_run

    names = store.read(partial(find_run, run=options.id, app=options.app))
    counts = store.read(lambda connection: count_rows_of(connection, names))
    if not options.dry_run:
        delete_run(store, names, time_ns())
    return +Counter({"evaluation_runs": len(names), **counts})


DELETE = StoreCommand(
    "delete",
    "delete a run, a conversation, a user or an evaluation",
    _add_arguments,
    _run,
    "Exit status: 0, nothing that names it is left in the store; 1, something is, or nothing was found.",
)
