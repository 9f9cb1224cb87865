"""The subcommand `runs`: lists the runs of a store."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import clipped, columns, counted, names_text, padded, printable, say

_HEAD = ("state", "day", "run", "results", "pass", "fail", "open", "lost", "cost", "versions")
_LONGEST = 48


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--app", default="", metavar="NAME", help="only the runs of this app")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.database import open_store
    from turnwise.pipeline.store.pruning import listed_runs

    with closing(open_store(options.store, read_only=True)) as store:
        runs = store.read(lambda connection: listed_runs(connection, options.app))
    if options.json:
        for run in runs:
            say(json.dumps(run._asdict(), ensure_ascii=False))
        return 0
    for app in sorted({run.app for run in runs}):
        say(printable(app))
        _print_table([run for run in runs if run.app == app])
    say(counted(len(runs), "run"))
    return 0


def _print_table(runs: Sequence[Any]) -> None:
    lines = [_HEAD, *map(_cells, runs)]
    widths = [max(columns(line[place]) for line in lines) for place in range(len(_HEAD))]
    for line in lines:
        say("  " + "  ".join(padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cells(run: Any) -> tuple[str, ...]:
    counts = (run.results, run.passes, run.fails, run.undecided, run.lost)
    return (
        run.state,
        run.day or "?",
        clipped(printable(run.run_id), _LONGEST),
        *(str(number) for number in counts),
        "?" if run.cost is None else f"{run.cost:.2f}",
        names_text([version or "draft" for version in run.app_versions]),
    )


RUNS = StoreCommand("runs", "list the runs", _add_arguments, _run)
