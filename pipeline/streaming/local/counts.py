"""Converts the stored counts of a stream to the counts that every run reports."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turnwise.pipeline.report.counts import RunCounts, failure_counters, named_counts
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.scoring.findings import STAGE
from turnwise.transforms.scoring.inferred_effects import GUESS
from turnwise.transforms.streaming.outcome import RecordOutcome

_READING = ("read", "parse")


def stream_counts(counts: Mapping[str, int]) -> RunCounts:
    """Returns the stored counts under the names that every run reports."""
    number, named = Counter(counts), named_counts(counts)
    return {
        "records": number["records"],
        "lost_records": number["lost_records"],
        "lost_conversations": number["lost_conversations"],
        "results": number["results"],
        "lost_cases": number["lost_cases"],
        "replaced": number["replaced"],
        "repeated": number["repeated"],
        "parsed_records": number["records"] - number["lost_records"],
        "conversations": number["results"] + number["lost_conversations"],
        "cases": 0,
        "unused_cases": 0,
        "failures": named["failures"],
        "failures_by_version": named["failures_by_version"],
        "findings": named["findings"],
    }


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
