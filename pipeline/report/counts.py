"""What a run counts, by name, and the form in which it is reported."""

from collections.abc import Iterator, Mapping

from turnwise.schemas.rows import FailureRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.scoring.findings import STAGE
from turnwise.transforms.scoring.inferred_effects import GUESS

_FAILURE, _FINDING, _VERSION = "failure ", "finding ", "version "
_PLAIN = (
    "records",
    "parsed_records",
    "lost_records",
    "conversations",
    "lost_conversations",
    "results",
    "cases",
    "lost_cases",
    "unused_cases",
    "joined_entries",
)


def failure_counters(row: FailureRow) -> Iterator[str]:
    """Yields the names of the counters that a failure adds 1 to."""
    if row["stage"] == STAGE:
        yield f"{_FINDING}{row['error_type']}"
        return
    yield f"{_FAILURE}{row['stage']}: {row['error_type']}"
    if row["conversation_id"] is not None:
        yield f"{_VERSION}{row['app_version'] or ''}"


def run_counts(counts: Mapping[str, int]) -> JsonObject:
    """Returns how many records, conversations and results there were, and how many were lost where.

    Args:
        counts: Number by name of a counter. `unread_records` are records, too, and lost.
    """
    found: JsonObject = {name: counts.get(name, 0) for name in _PLAIN}
    for name in ("records", "lost_records"):
        found[name] += counts.get("unread_records", 0)
    return {**found, **named_counts(counts)}


def named_counts(counts: Mapping[str, int]) -> JsonObject:
    """Returns the counts of failures and findings, by their kinds and by app version."""
    return {
        "failures": _largest_first(_of(counts, _FAILURE)),
        "failures_by_version": _of(counts, _VERSION),
        "findings": _largest_first(_of(counts, _FINDING)),
    }


def guesses_by_tool(counts: Mapping[str, int]) -> JsonObject:
    """Returns the tools whose effect was guessed, with the guess and in how many conversations it counted."""
    split = ((key.partition("|"), number) for key, number in _largest_first(_of(counts, GUESS)).items())
    return {name: {"effect": effect, "conversations": number} for (effect, _, name), number in split}


def _of(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in counts.items() if n and name.startswith(prefix)}


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
