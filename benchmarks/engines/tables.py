"""Compares the tables of two runs, row by row, in any order."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.rows import TABLES

_TIMES = re.compile(r'"(createTime|create_time)": "[^"]*"')


def tables(directory: Path) -> dict[str, Counter[str]]:
    """Returns the rows of each table, as texts that are equal for equal rows of runs with one id."""
    run = open_run(str(directory))
    return {table: Counter(map(_text, run.rows(table))) for table in TABLES}


def _text(row: Mapping[str, Any]) -> str:
    return _TIMES.sub("", json.dumps(row, sort_keys=True))


def differences(one: Mapping[str, Counter[str]], other: Mapping[str, Counter[str]]) -> list[str]:
    """Returns what differs, one line a table; empty: both hold the same rows."""
    found = []
    for table in TABLES:
        less, more = one[table] - other[table], other[table] - one[table]
        if less or more:
            example = next(iter(less or more))[:300]
            lack = f"{sum(less.values())} rows are missing, {sum(more.values())} are more"
            found.append(f"{table}: {lack}, such as {example}")
    return found
