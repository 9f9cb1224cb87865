"""The subcommands `prune` and `retention`: delete old runs, once or after every run."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.cli.store.overwriting import overwritten
from turnwise.pipeline.io.terminal import complain, counted, printable, say
from turnwise.pipeline.settings.user import current_user
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from turnwise.pipeline.store.engine import Store
    from turnwise.pipeline.store.maintenance.pruning import OldRun, Pruning
    from turnwise.pipeline.store.maintenance.retention import Retention

_METRICS_HELP = "keep the row of each run and its metrics"


def _add_prune_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--older_than", metavar="DAYS",
        help="delete runs that ended so many days ago, such as 90d (default: the store's retention)",
    )  # fmt: skip
    parser.add_argument("--keep_metrics", action="store_true", help=_METRICS_HELP)
    parser.add_argument(
        "--dry_run", action="store_true", help="say what would be deleted, and change nothing"
    )


def _prune(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.pruning import count_rows_of, old_runs, prune

    with closing(open_store(options.store, read_only=options.dry_run)) as store:
        pruning = _rule(store, options).pruning(current_user(), time_ns())
        runs = store.read(lambda connection: old_runs(connection, pruning))
        counts = store.read(lambda connection: count_rows_of(connection, runs, pruning.keep_metrics))
        _tell(runs, counts, pruning)
        if options.dry_run:
            return 0
        done = prune(store, pruning)
        say(f"{counted(len(done), 'run')} deleted" + (", metrics kept" if pruning.keep_metrics else ""))
        left = overwritten(store)
        left += [f"{run.name}: was written meanwhile, and is not deleted" for run in runs if run not in done]
        for line in left:
            complain(printable(f"left: {line}"))
        return 1 if left else 0


def _rule(store: "Store", options: Namespace) -> "Retention":
    from turnwise.pipeline.store.maintenance.age import parse_days
    from turnwise.pipeline.store.maintenance.retention import Retention, read_retention

    if options.older_than is not None:
        return Retention(parse_days("--older_than", options.older_than), options.keep_metrics)
    kept = store.read(read_retention)
    if kept is None:
        raise ConfigError(
            "--older_than is missing, and the store has no retention (turnwise store retention)"
        )
    if options.keep_metrics and not kept.keep_metrics:
        raise ConfigError("--keep_metrics: the store's retention deletes metrics: name --older_than too")
    return kept


def _tell(runs: "Sequence[OldRun]", counts: dict[str, int], pruning: "Pruning") -> None:
    from turnwise.schemas.proto.scalars import nanos_timestamp

    for run in runs:
        say(printable(f"{nanos_timestamp(run.nanos)[:10]} {run.state:<9} {run.name}"))
    rows = ", ".join(f"{table} {number}" for table, number in counts.items())
    what = "rows to delete" if runs else "no run is that old"
    say(
        f"{counted(len(runs), 'run')} before {nanos_timestamp(pruning.before)[:10]}: {what}"
        + (f": {rows}" if runs else "")
    )


def _add_retention_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "age", nargs="?", metavar="DAYS|off", help="such as 90d; off: runs stay (default: say what is set)"
    )
    parser.add_argument("--keep_metrics", action="store_true", help=_METRICS_HELP)


def _retention(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.age import parse_days
    from turnwise.pipeline.store.maintenance.retention import Retention, read_retention, write_retention

    if options.keep_metrics and options.age in (None, "off"):
        raise ConfigError("--keep_metrics: needs an age such as 90d")
    with closing(open_store(options.store, read_only=options.age is None)) as store:
        if options.age is not None:
            days = None if options.age == "off" else parse_days("retention", options.age)
            rule = None if days is None else Retention(days, options.keep_metrics)
            store.write(lambda connection: write_retention(connection, rule))
        say(_retention_text(store.read(read_retention)))
    return 0


def _retention_text(rule: "Retention | None") -> str:
    if rule is None:
        return "no retention: runs stay until they are deleted"
    what = "all rows but metrics" if rule.keep_metrics else "all rows"
    return f"retention: {what} of runs are deleted after {counted(rule.days, 'day')}, when a run ends"


PRUNE = StoreCommand(
    "prune",
    "delete old runs",
    _add_prune_arguments,
    _prune,
    "A run that may still be written is not deleted. Evaluations stay. "
    "Exit status: 0, done; 1, something is left.",
)
RETENTION = StoreCommand(
    "retention",
    "say or set for how long runs stay",
    _add_retention_arguments,
    _retention,
)
