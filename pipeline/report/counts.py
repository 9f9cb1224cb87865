"""What a run counts, by name, and the form in which it is reported."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypedDict

from turnwise.pipeline.io.files import READ_PART, UNREAD_FILES, UNREAD_PART, WORKER
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.matching.sample import USED_CASE
from turnwise.transforms.scoring.config import LEFT_BY_BUDGET
from turnwise.transforms.scoring.evaluate import GUESS
from turnwise.transforms.scoring.panels import STAGE

_FAILURE, FINDING, _VERSION = "failure ", "finding ", "version "


class NamedCounts(TypedDict):
    """Counts of failures and findings by kind, and of failed conversations by app version ("": unknown)."""

    failures: dict[str, int]
    failures_by_version: dict[str, int]
    findings: dict[str, int]


class _OccasionalCounts(TypedDict, total=False):
    joined_entries: int
    replaced: int
    repeated: int
    late_conversations: int
    unread_ends: int
    unread_files: int
    left_by_budget: int


class RunCounts(NamedCounts, _OccasionalCounts):
    """Numbers of what a run read, scored and lost, as `counts` in `run.json`.

    A batch has `joined_entries` and `unread_files` (files that an option names, of which no record could be
    read). A stream has `replaced` (results that a later revision replaced), `repeated`
    (conversations that arrived again unchanged), `late_conversations` and `unread_ends`; its cases change
    while it runs, so `cases` and `unused_cases` are None. `left_by_budget` is the number of conversations
    without a verdict because a budget of the judge was spent.
    """

    records: int
    parsed_records: int
    lost_records: int
    conversations: int
    lost_conversations: int
    results: int
    cases: int | None
    lost_cases: int
    unused_cases: int | None


def failure_counters(row: FailureRow) -> Iterator[str]:
    """Yields the names of the counters that a failure adds 1 to."""
    if row["stage"] == STAGE:
        yield f"{FINDING}{row['error_type']}"
        return
    yield f"{_FAILURE}{row['stage']}: {row['error_type']}"
    if row["conversation_id"] is not None:
        yield f"{_VERSION}{row['app_version'] or ''}"


def run_counts(counts: Mapping[str, int]) -> RunCounts:
    """Returns how many records, conversations and results there were, and how many were lost where.

    Args:
        counts: Number by name of a counter. `unread_records` are records, too, and lost.
    """
    number, named = Counter(counts), named_counts(counts)
    found: RunCounts = {
        "records": number["records"] + number["unread_records"],
        "parsed_records": number["parsed_records"],
        "lost_records": number["lost_records"] + number["unread_records"],
        "conversations": number["conversations"],
        "lost_conversations": number["lost_conversations"],
        "results": number["results"],
        "cases": number["cases"],
        "lost_cases": number["lost_cases"],
        "unused_cases": number["cases"] - len(_of(counts, USED_CASE)),
        "joined_entries": number["joined_entries"],
        "unread_files": number[UNREAD_FILES] + _unread_files(counts),
        "failures": named["failures"],
        "failures_by_version": named["failures_by_version"],
        "findings": named["findings"],
    }
    if number[LEFT_BY_BUDGET]:
        found["left_by_budget"] = number[LEFT_BY_BUDGET]
    return found


def _unread_files(counts: Mapping[str, int]) -> int:
    """Returns the number of files of which several parts were read, and none gave a record."""
    return len(_of(counts, UNREAD_PART).keys() - _of(counts, READ_PART).keys())


def records_by_worker(counts: Mapping[str, int]) -> dict[str, int]:
    """Returns how many records each worker read; {}: the run had one process."""
    return _largest_first(_of(counts, WORKER))


def named_counts(counts: Mapping[str, int]) -> NamedCounts:
    """Returns the counts of failures and findings, by their kinds and by app version."""
    return {
        "failures": _largest_first(_of(counts, _FAILURE)),
        "failures_by_version": _of(counts, _VERSION),
        "findings": _largest_first(_of(counts, FINDING)),
    }


def guesses_by_tool(counts: Mapping[str, int]) -> JsonObject:
    """Returns the tools whose effect was guessed, with the guess and in how many conversations it counted."""
    split = ((key.partition("|"), number) for key, number in _largest_first(_of(counts, GUESS)).items())
    return {name: {"effect": effect, "conversations": number} for (effect, _, name), number in split}


def _of(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in counts.items() if n and name.startswith(prefix)}


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
