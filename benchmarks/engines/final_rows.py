"""The rows of a stream or batch that count in the end, in a form that is equal for equal outcomes."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.engines.runs import check

_REVISION = re.compile(r"-r(\d{5})-")
_KEYS = {
    "scores": ("conversation_id", "eval_id", "turn_index", "criterion"),
    "results": ("displayName",),
    "conversations": ("conversation_id", "eval_id"),
    "failures": ("stage", "conversation_id", "message"),
}
_KEPT = {
    "scores": ("value", "outcome", "reason", "label"),
    "results": ("evaluationStatus",),
    "conversations": ("app_version", "verdict", "transcript"),
    "failures": ("error_type",),
}
Rows = Mapping[tuple[str, ...], tuple[str, ...]]


def final_rows(folder: Path) -> Rows:
    """Returns the rows of each thing in a folder of tables: those with the highest `revision`."""
    found: dict[tuple[str, ...], tuple[int, list[str]]] = {}
    for table, keys in _KEYS.items():
        for row in _rows(folder, table):
            key = (table, *(str(row.get(name)) for name in keys))
            own = row.get("revision") or 0
            revision, values = found.get(key, (own, []))
            value = json.dumps([row.get(name) for name in _KEPT[table]], sort_keys=True)
            if own >= revision:
                found[key] = own, [*(values if own == revision else ()), value]
    return {key: tuple(sorted(values)) for key, (_, values) in found.items()}


def _rows(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"{table}-*.jsonl")):
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                row = json.loads(line)
                if table == "results":
                    # The revision of a result is a part of its file's name.
                    named = _REVISION.search(path.name)
                    row["revision"] = int(named[1]) if named else 0
                yield row


def check_same(expected: Rows, found: Rows) -> None:
    """Raises CaseError unless both hold the same."""
    lost, more = expected.keys() - found.keys(), found.keys() - expected.keys()
    other = [key for key in expected.keys() & found.keys() if expected[key] != found[key]]
    examples = [*sorted(lost)[:2], *sorted(more)[:2], *sorted(other)[:2]]
    what = f"{len(lost)} rows are lost, {len(more)} are more, {len(other)} differ, such as {examples}"
    check(not (lost or more or other), what)
