"""Converts the stored counts of a stream to the counts that every run reports."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turnwise.pipeline.batch.counters import guesses_by_tool
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.answers.checks import STAGE
from turnwise.transforms.streaming.outcome import RecordOutcome

_FAILURE, _FINDING, _VERSION, _GUESS = "failure ", "finding ", "version ", "guess "
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
    for name, prefix in (("failures", _FAILURE), ("findings", _FINDING)):
        named = _named(counts, prefix)
        found[name] = dict(sorted(named.items(), key=lambda entry: (-entry[1], entry[0])))
    return {**found, "cases": 0, "unused_cases": 0, "failures_by_version": _named(counts, _VERSION)}


def stream_guesses(counts: Mapping[str, int]) -> JsonObject:
    """Returns the tools whose effect was guessed, in the form that every run reports."""
    return guesses_by_tool(_named(counts, _GUESS))


def _named(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in counts.items() if n and name.startswith(prefix)}


def outcome_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what a conversation adds to the counts: a result or a loss, its failures and findings."""
    found = _failure_counts(outcome.failures)
    found["results" if outcome.results else "lost_conversations"] += 1
    found.update(f"{_GUESS}{guess}" for guess in outcome.guesses)
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
        if row["stage"] == STAGE:
            found[f"{_FINDING}{row['error_type']}"] += 1
            continue
        found[f"{_FAILURE}{row['stage']}: {row['error_type']}"] += 1
        if row["conversation_id"] is not None:
            found[f"{_VERSION}{row['app_version'] or ''}"] += 1
        if row["stage"] == "parse_case":
            found["lost_cases"] += 1
    return found
