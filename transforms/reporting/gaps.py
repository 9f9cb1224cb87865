"""What is not green: scores without a value by reason, and failures with their records."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.report import FailureGroup, Unscored
from turnwise.transforms.decisions.report.collect import AnyRow, CollectedRuns, Entry
from turnwise.transforms.scoring.evaluate import STATUS

NO_REASON = "no reason is stated"
LONGEST_RECORD = 4000
_LONGEST_REASON = 300
_MOST_REASONS = 200
_EXAMPLES = 10
_ROWS = 25


class _Reason(NamedTuple):
    criterion: str
    version: int
    text: str


def unscored(collected: CollectedRuns, entries: Sequence[Entry]) -> list[Unscored]:
    """Returns scores without a value and verdicts not reached, by reason, most frequent first.

    Args:
        collected: The rows.
        entries: The conversations in reading order, whose places are given as examples.
    """
    places = {version: place for place, version in enumerate(collected.versions)}
    counts: dict[_Reason, int] = {}
    examples: dict[_Reason, list[int]] = {}
    for place, entry in enumerate(entries):
        for name, text in _reasons(entry):
            key = _Reason(name, places[entry.version], _short(text))
            counts[key] = counts.get(key, 0) + 1
            own = examples.setdefault(key, [])
            if len(own) < _EXAMPLES and place not in own:
                own.append(place)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    found = [Unscored(*key, number, examples[key]) for key, number in ranked[:_MOST_REASONS]]
    rest = sum(number for _, number in ranked[_MOST_REASONS:])
    return [*found, Unscored("", -1, "other reasons", rest, [])] if rest else found


def _reasons(entry: Entry) -> list[tuple[str, str]]:
    found = [(s["criterion"], s.get("reason") or NO_REASON) for s in entry.scores if "value" not in s]
    if entry.row["verdict"] is None:
        found.append((STATUS, entry.row["reason"] or NO_REASON))
    return found


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def failure_groups(failures: Sequence[Sequence[AnyRow]]) -> list[FailureGroup]:
    """Returns failures and findings by stage and error, failures first, then the most frequent first."""
    found: dict[tuple[str, str], list[AnyRow]] = {}
    for place, rows in enumerate(failures):
        for row in rows:
            key = (row.get("stage") or "", row.get("error_type") or "")
            found.setdefault(key, []).append({**row, "run": place})
    groups = [
        FailureGroup(*key, len(rows), [_shown(row) for row in rows[:_ROWS]]) for key, rows in found.items()
    ]
    return sorted(groups, key=lambda group: (group.stage == "check", -group.count, group.stage))


def _shown(row: AnyRow) -> AnyRow:
    """Returns a failure with a record that fits on a screen, and how much of it was cut."""
    record = row.get("record") or ""
    kept = {name: value for name, value in row.items() if value is not None and name != "record"}
    if record:
        kept |= {"record": record[:LONGEST_RECORD], "record_cut": max(0, len(record) - LONGEST_RECORD)}
    return kept
