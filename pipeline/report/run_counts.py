"""What was counted in a run, by name: records, failures, workers, guessed effects, flips of judges."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NotRequired, TypedDict

from turnwise.pipeline.io.files import READ_PART, UNREAD_FILES, UNREAD_PART, WORKER
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.formats.registry import NO_VERSION
from turnwise.transforms.matching.sample import NO_CASES_GIVEN, USED_CASE
from turnwise.transforms.scoring.config import LEFT_BY_BATCH, LEFT_BY_BUDGET, SHORT_OF_BATCH, SHORT_OF_BUDGET
from turnwise.transforms.scoring.evaluate import GUESS
from turnwise.transforms.scoring.selection import STAGE

_FAILURE, FINDING, _VERSION = "failure ", "finding ", "version "


class RunCounts(TypedDict):
    """Numbers of what a run read, scored and rejected, as `counts` in `run.json`.

    A batch has `joined_entries` and `unread_files` (files that an option names, of which no record could be
    read). A stream has `replaced` (results that a later revision replaced), `repeated` (conversations that
    arrived again unchanged), `late_conversations` and `unread_ends`; its cases change while it runs, so
    `cases` and `unused_cases` are None. `short_of_budget` conversations have no score of a judged criterion
    because a budget of the judge was spent or kept for later ones, `left_by_budget` no verdict for it;
    `short_of_batch` and `left_by_batch` are the same for batch jobs that failed or are late. `no_cases_given`
    name an eval case where none were given, `no_version` state no app version, by format ("": most formats).
    Failures and findings are counted by kind, failed conversations by app version, too ("": unknown).
    """

    records: int
    parsed_records: int
    rejected_records: int
    conversations: int
    rejected_conversations: int
    results: int
    cases: int | None
    rejected_cases: int
    unused_cases: int | None
    joined_entries: NotRequired[int]
    replaced: NotRequired[int]
    repeated: NotRequired[int]
    late_conversations: NotRequired[int]
    unread_ends: NotRequired[int]
    unread_files: NotRequired[int]
    short_of_budget: NotRequired[int]
    left_by_budget: NotRequired[int]
    short_of_batch: NotRequired[int]
    left_by_batch: NotRequired[int]
    no_cases_given: NotRequired[int]
    no_version: NotRequired[dict[str, int]]
    failures: dict[str, int]
    failures_by_version: dict[str, int]
    findings: dict[str, int]


def failure_counters(row: FailureRow) -> Iterator[str]:
    """Yields the names of the counters that a failure adds 1 to."""
    if row["stage"] == STAGE:
        yield f"{FINDING}{row['error_type']}"
        return
    yield f"{_FAILURE}{row['stage']}: {row['error_type']}"
    if row["conversation_id"] is not None:
        yield f"{_VERSION}{row['app_version'] or ''}"


def run_counts(counts: Mapping[str, int]) -> RunCounts:
    """Returns how many records, conversations and results there were, and how many were rejected where."""
    number = Counter(counts)
    counts_of_run: RunCounts = {
        "records": number["records"] + number["unread_records"],
        "parsed_records": number["parsed_records"],
        "rejected_records": number["rejected_records"] + number["unread_records"],
        "conversations": number["conversations"],
        "rejected_conversations": number["rejected_conversations"],
        "results": number["results"],
        "cases": number["cases"],
        "rejected_cases": number["rejected_cases"],
        "unused_cases": number["cases"] - len(_of(counts, USED_CASE)),
        "joined_entries": number["joined_entries"],
        "unread_files": number[UNREAD_FILES]
        + len(_of(counts, UNREAD_PART).keys() - _of(counts, READ_PART).keys()),
        "failures": _largest_first(_of(counts, _FAILURE)),
        "failures_by_version": _of(counts, _VERSION),
        "findings": _largest_first(_of(counts, FINDING)),
    }
    for name in (SHORT_OF_BUDGET, LEFT_BY_BUDGET, SHORT_OF_BATCH, LEFT_BY_BATCH):
        if number[name]:
            counts_of_run[name] = number[name]  # type: ignore[literal-required]
    if number[NO_CASES_GIVEN]:
        counts_of_run["no_cases_given"] = number[NO_CASES_GIVEN]
    if unversioned := _largest_first(_of(counts, NO_VERSION)):
        counts_of_run["no_version"] = unversioned
    return counts_of_run


def records_by_worker(counts: Mapping[str, int]) -> dict[str, int]:
    """Returns how many records each worker read; {}: the run had one process."""
    return _largest_first(_of(counts, WORKER))


def guesses_by_tool(counts: Mapping[str, int]) -> JsonObject:
    """Returns the tools whose effect was guessed, with the guess and in how many conversations it counted."""
    split = ((key.partition("|"), number) for key, number in _largest_first(_of(counts, GUESS)).items())
    return {name: {"effect": effect, "conversations": number} for (effect, _, name), number in split}


def _of(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in counts.items() if n and name.startswith(prefix)}


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
