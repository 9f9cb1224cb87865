"""Converts the stored counts of a stream to the counts that every run reports."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turnwise.pipeline.report.counts import failure_counters, named_counts
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.scoring.findings import STAGE
from turnwise.transforms.scoring.inferred_effects import GUESS
from turnwise.transforms.streaming.outcome import RecordOutcome

_READING = ("read", "parse")
_PLAIN = ("records", "lost_records", "lost_conversations", "results", "lost_cases", "replaced", "repeated")


def stream_counts(counts: Mapping[str, int]) -> JsonObject:
    """Returns the stored counts under the names that every run reports.

    `replaced` counts results that a later revision replaced, `repeated` conversations that arrived again
    unchanged.
    """
    found: JsonObject = {name: counts.get(name, 0) for name in _PLAIN}
    found["parsed_records"] = found["records"] - found["lost_records"]
    found["conversations"] = found["results"] + found["lost_conversations"]
    return {**found, "cases": 0, "unused_cases": 0, **named_counts(counts)}


def outcome_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what a conversation adds to the counts: a result or a loss, its failures and findings."""
    found = _failure_counts(outcome.failures)
    found["results" if outcome.results else "lost_conversations"] += 1
    found.update(f"{GUESS}{guess}" for guess in outcome.guesses)
    return found


def loss_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what a record without a conversation adds to the counts."""
    found = _failure_counts(outcome.failures)
    for row in outcome.failures:
        if row["stage"] not in (STAGE, "alert", "parse_case"):
            found["lost_records" if row["stage"] in _READING else "lost_conversations"] += 1
    return found


def _failure_counts(rows: Iterable[FailureRow]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(failure_counters(row))
        if row["stage"] == "parse_case":
            found["lost_cases"] += 1
    return found
