"""Checks that the timed runs gave equal results: turnwise and google-adk, the pipeline and the plain loop."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_CREATE_TIME = re.compile(rb'"createTime":"[^"]*",?')
_TABLES = ("scores", "results", "conversations", "metrics_by_app_version", "metrics_by_turn")

AdkScore = tuple[str, int | None, str, float | None]


def table_lines(directory: Path, table: str) -> Iterator[bytes]:
    """Yields the lines of all files of a table."""
    for path in sorted(directory.rglob(f"{table}*.jsonl")):
        with path.open("rb") as file:
            yield from file


def output_mb(directory: Path) -> float:
    """Returns the size of everything a run wrote."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1024 / 1024


def equal_scores(output: Path, adk_scores: Sequence[AdkScore]) -> tuple[int, list[str]]:
    """Compares google-adk's scores, of turns and of cases, with a run's rows, bit for bit.

    Returns:
        How many scores were compared, and one line per score that differs or is missing.
    """
    wanted: dict[Any, float | None] = {(case, turn, name): value for case, turn, name, value in adk_scores}
    problems = []
    open_keys = set(wanted)
    for line in table_lines(output, "scores"):
        row = json.loads(line)
        key = (row["conversation_id"], row["turn_index"], row["criterion"])
        if key in wanted:
            if key not in open_keys:
                problems.append(f"{key}: two rows")
            open_keys.discard(key)
            if row["value"] != wanted[key]:
                problems.append(f"{key}: turnwise {row['value']!r}, google-adk {wanted[key]!r}")
    return len(wanted), problems + [f"{key}: no row" for key in open_keys] + ["no score"] * (not wanted)


def equal_tables(output: Path, other: Path) -> tuple[int, list[str]]:
    """Compares the rows of two runs, whatever their order; the time of a result may differ.

    Returns:
        How many rows were compared, and one line per table that differs.
    """
    count, problems = 0, []
    for table in _TABLES:
        ours = sorted(_CREATE_TIME.sub(b"", line) for line in table_lines(output, table))
        theirs = sorted(_CREATE_TIME.sub(b"", line) for line in table_lines(other, table))
        count += len(ours)
        if not ours or ours != theirs:
            problems.append(
                f"{table}: {len(ours)} rows of the pipeline, {len(theirs)} of the plain loop differ"
            )
    return count, problems
