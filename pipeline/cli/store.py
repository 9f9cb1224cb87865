"""Implements `turnwise store`: lists, prunes, deletes, copies and checks what a store holds. Without Beam."""

import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.io.terminal import aligned, clipped, complain, names_text, printable, say
from turnwise.pipeline.settings.options import FLAG, STORE, Subcommand, check_store, run_subcommand
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.comparison import NO_VERSION
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import counted, is_sqlite_url
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.decisions.comparison.words import amount

if TYPE_CHECKING:
    from turnwise.pipeline.store.database import Store


def look_after_store(argv: Sequence[str]) -> int:
    """Runs a subcommand, and returns its exit status; raises ConfigError."""
    return run_subcommand("store", COMMANDS, argv)


def _opened(options: Namespace, read_only: bool = False) -> "closing[Store]":
    check_store("--store", options.store)  # what is imported next needs the packages of an extra
    from turnwise.pipeline.store.database import open_store

    return closing(open_store(options.store, read_only=read_only))


_HEAD = ("state", "day", "run", "results", "pass", "fail", "open", "rejected", "cost", "versions")
_LONGEST = 48


def _list_runs(options: Namespace) -> int:
    with _opened(options, read_only=True) as store:
        from turnwise.pipeline.store.maintenance import listed_runs

        runs = store.read(lambda connection: listed_runs(connection, options.app))
    if options.json:
        for run in runs:
            say(json.dumps(run._asdict(), ensure_ascii=False))
        return 0
    for app in sorted({run.app for run in runs}):
        say(printable(app))
        lines: list[tuple[str, ...]] = [_HEAD]
        for run in (run for run in runs if run.app == app):
            counts = map(str, (run.results, run.passes, run.fails, run.no_verdict, run.rejected))
            cost = "?" if run.cost is None else amount(run.cost, "mean", "money")
            versions = names_text([version or NO_VERSION for version in run.app_versions])
            name = clipped(printable(run.run_id), _LONGEST)
            lines.append((run.state, run.day or "?", name, *counts, cost, versions))
        for line in aligned(lines):
            say(f"  {line}")
    say(counted(len(runs), "run"))
    return 0


_DAY_NANOS = 24 * 3600 * 10**9
_AGE = re.compile(r"([1-9][0-9]{0,4})d")


def _prune(options: Namespace) -> int:
    age = _AGE.fullmatch(options.older_than)
    if not age:
        raise ConfigError(f"--older_than {options.older_than}: is no number of days such as 90d")
    now = time_ns()
    before = now - int(age[1]) * _DAY_NANOS
    with _opened(options, read_only=options.dry_run) as store:
        from turnwise.pipeline.store.maintenance import count_rows_of, old_runs, prune

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
        return _tell_left([*left, *_overwrite(store)])


def _overwrite(store: "Store") -> list[str]:
    """Overwrites what was deleted; returns where it is left, one line each."""
    from turnwise.pipeline.store.maintenance import overwrite_deleted

    try:
        is_done = overwrite_deleted(store)
    except StoreError as error:
        return [f"what was deleted may be in free pages of the file: {error}"]
    return [] if is_done else ["what was deleted is in the -wal file: another process reads; try again"]


def _tell_left(left: list[str]) -> int:
    for line in left:
        complain(printable(f"left: {line}"))
    return 1 if left else 0


def _delete(options: Namespace) -> int:
    if not options.id.strip():
        raise ConfigError("ID is empty")
    if options.app and options.kind in ("user", "evaluation"):
        raise ConfigError(f"--app: is for runs and conversations; a {options.kind} is deleted in all apps")
    with _opened(options) as store:
        from turnwise.pipeline.store import maintenance

        change, left = store.undone if options.dry_run else store.write, list[str]()
        if options.kind == "run":
            names = store.read(partial(maintenance.find_run, run=options.id, app=options.app))
            counts = store.read(lambda connection: maintenance.count_rows_of(connection, names))
            if not options.dry_run:
                maintenance.delete_run(store, names, time_ns())
            done = +Counter({"evaluation_runs": len(names), **counts})
        elif options.kind == "evaluation":
            done = change(partial(maintenance.delete_evaluation, name=options.id))
        else:
            find = partial(maintenance.find_user, user=options.id)
            if options.kind == "conversation":
                find = partial(maintenance.find_conversation, name=options.id, app=options.app)
            subject = store.read(find)
            done = change(partial(maintenance.delete_subject, subject=subject))
            naming = store.read(partial(maintenance.naming, subject=subject)).items()
            left = [f"{name}: names it; turnwise store delete {kind} deletes it" for name, kind in naming]
        left += [] if options.dry_run else _overwrite(store)
    if not done:
        complain(printable(f"nothing of {options.kind} {options.id} was found in the store"))
    what = "would be deleted or emptied" if options.dry_run else "deleted or emptied"
    for table, number in sorted(done.items()):
        say(f"{table}: {number} {what}")
    elsewhere = "output directories, reports, backups and caches of judges' replies"
    say(f"not reached: {elsewhere}; what was deleted comes back if its log is scored again")
    return _tell_left(left) or int(not done)


def _back_up(options: Namespace) -> int:
    if not is_sqlite_url(options.store):
        raise ConfigError("backup: is for SQLite; copy PostgreSQL by pg_dump")
    with _opened(options, read_only=True) as store:
        from turnwise.pipeline.store.maintenance import back_up

        size = back_up(store, options.file)
    say(printable(f"{options.file}: {size} bytes, sound"))
    return 0


def _check(options: Namespace) -> int:
    with _opened(options, read_only=True) as store:
        from turnwise.pipeline.store.maintenance import problems_of

        problems_by_check = problems_of(store)
    for name, problems in problems_by_check.items():
        say(f"{name}: {counted(len(problems), 'problem') if problems else 'sound'}")
        for line in problems:
            complain(printable(line))
    return 1 if any(problems_by_check.values()) else 0


_STORE = ("--store", {**STORE, "required": True}, "sqlite:///FILE or postgresql://... (required)")
_DRY_RUN = ("--dry_run", FLAG, "say what would be deleted, and change nothing")
COMMANDS = {
    "runs": Subcommand(
        "list the runs",
        (_STORE,
         ("--app", {"default": "", "metavar": "NAME"}, "only the runs of this app"),
         ("--json", FLAG, "print one JSON object a line")),
        _list_runs,
    ),
    "prune": Subcommand(
        "delete old runs",
        (_STORE,
         ("--older_than", {"required": True, "metavar": "DAYS"},
          "delete runs that ended so many days ago, such as 90d (required)"),
         _DRY_RUN),
        _prune,
        "A run that may still be written is not deleted. Evaluations stay. "
        "Exit status: 0, done; 1, something is left.",
    ),
    "delete": Subcommand(
        "delete a run, a conversation, a user or an evaluation",
        (_STORE,
         ("kind", {"choices": ("run", "conversation", "user", "evaluation")}, "what ID names"),
         ("id", {"metavar": "ID"}, "id of a run, conversation or user, or a name in the store"),
         ("--app", {"default": "", "metavar": "NAME"}, "app of the run or conversation"),
         _DRY_RUN),
        _delete,
        "Exit status: 0, nothing that names it is left in the store; 1, something is, or nothing was found.",
    ),
    "backup": Subcommand(
        "copy a SQLite store while others write",
        (_STORE, ("file", {"metavar": "FILE"}, "the file to write; it must not exist")),
        _back_up,
    ),
    "check": Subcommand(
        "say whether a store is sound",
        (_STORE,),
        _check,
        "Exit status: 0, all was checked and is sound; 1, something is wrong, or could not be checked.",
    ),
}  # fmt: skip
"""Name -> subcommand, in the order of the help."""
