"""Joins the rows of runs by conversation."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from turnwise.schemas.comparison import Bounds
from turnwise.schemas.config import DEFAULT_CRITERIA, ConfigError
from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.rows import ConversationRow, MetricsByAppVersionRow
from turnwise.transforms.decisions.comparison.collect import version_order
from turnwise.transforms.decisions.run import Run, add_first_time

AnyRow = dict[str, Any]
"""A row of a table. Columns that another version of turnwise does not write are absent."""

_OF_CONVERSATION = frozenset(
    ("run_id", "conversation_id", "eval_id", "app_version", "language", "tags", "revision", "event_time")
)
ScoredKey = tuple[str, "str | None", "str | None"]
"""Conversation, case and app version: what joins scores with a conversation."""


class VersionKey(NamedTuple):
    """A column of the report: an app version of a run; "": the logs do not state it."""

    run: int
    app_version: str


class Entry(Struct):
    """A conversation with its scores.

    Attributes:
        row: Its row of `conversations-*`.
        is_repeated: Whether several conversations of the run have its ids; the first holds the scores of all.
    """

    version: VersionKey
    row: ConversationRow
    scores: list[AnyRow] = field(default_factory=list)
    is_repeated: bool = False

    @property
    def own_scores(self) -> list[AnyRow]:
        """The scores that are known to be its own."""
        return [] if self.is_repeated else self.scores

    @property
    def identity(self) -> str:
        """Conversation, case and version as one text."""
        return "\0".join((self.row["conversation_id"], self.row["eval_id"] or "", *map(str, self.version)))


class CollectedRuns(Struct, frozen=True):
    """The conversations of some runs.

    Attributes:
        versions: The columns, in display order.
        sampled_out: Run -> conversations about which the judge was not asked.
        idle: Run -> criteria with a threshold that applied to no conversation.
        bounds: (criterion, whether it is of whole conversations, version) -> interval of the share that
            passes, as the metrics have it; of a stream, there are only those of its windows.
    """

    versions: list[VersionKey]
    entries: list[Entry]
    failures: list[list[AnyRow]]
    units: dict[str, str]
    sampled_out: list[int]
    idle: list[list[str]] = field(default_factory=list)
    bounds: dict[tuple[str, bool, VersionKey], Bounds] = field(default_factory=dict)


def collect(runs: Sequence[Run]) -> CollectedRuns:
    """Reads the rows of runs and joins them."""
    entries: list[Entry] = []
    units: dict[str, str] = {}
    sampled_out: list[int] = []
    idle: list[list[str]] = []
    bounds: dict[tuple[str, bool, VersionKey], Bounds] = {}
    for number, run in enumerate(runs):
        joined = _joined(number, run)
        entries += joined
        rows = run.metrics()
        units |= {row["criterion"]: row["unit"] for row in rows}
        sampled_out.append(_sampled_out(rows))
        for row in rows:
            low, high = row["pass_rate_low"], row["pass_rate_high"]
            if row["window_start"] is None and low is not None and high is not None:
                version = VersionKey(number, row["app_version"] or "")
                bounds[row["criterion"], row["level"] == "conversation", version] = Bounds(low, high)
        idle.append(_idle(run, {row["criterion"] for row in rows}, joined))
    first_times: list[dict[str | None, str | None]] = [{} for _ in runs]
    for entry in entries:
        add_first_time(first_times[entry.version.run], entry.row)
    versions = in_display_order({entry.version for entry in entries}, first_times)
    failures = [[dict(row) for row in run.failures()] for run in runs]
    return CollectedRuns(versions, entries, failures, units, sampled_out, idle, bounds)


def _sampled_out(rows: Iterable[MetricsByAppVersionRow]) -> int:
    """Returns how many conversations sampling left out: of the criterion with most, by version and window."""
    most: dict[tuple[str | None, str | None], int] = {}
    for row in rows:
        key = row["window_start"], row["app_version"]
        most[key] = max(most.get(key, 0), row["sampled_out"] or 0)
    return sum(most.values())


def _idle(run: Run, measured: set[str], entries: Sequence[Entry]) -> list[str]:
    """Returns the criteria with a threshold that applied to no conversation of a run that has some.

    Those of the default config are left out: nobody asked for them.
    """
    if run.document.config.get("criteria") == DEFAULT_CRITERIA:
        return []
    seen = measured | {score["criterion"] for entry in entries for score in entry.scores}
    return [name for name in run.document.thresholds if name not in seen] if entries else []


def in_display_order(
    keys: Iterable[VersionKey], first_times: Sequence[Mapping[str | None, str | None]]
) -> list[VersionKey]:
    """Returns versions run by run, the oldest first; those that no log states come last.

    `first_times`: of each run, app version -> start of its first conversation in RFC 3339.
    """
    orders = [version_order(times).versions for times in first_times]
    order = {
        VersionKey(i, name): number for i, names in enumerate(orders) for number, name in enumerate(names)
    }
    return sorted(keys, key=lambda key: (not key.app_version, key.run, order.get(key, 0)))


def _joined(run_number: int, run: Run) -> list[Entry]:
    """Returns the conversations of a run; of several with the same ids, the first holds the scores."""
    entries = [Entry(VersionKey(run_number, row["app_version"] or ""), row) for row in run.conversations()]
    by_key = {_key(entry.row): entry for entry in reversed(entries)}
    number = Counter(_key(entry.row) for entry in entries)
    for entry in entries:
        entry.is_repeated = number[_key(entry.row)] > 1
    for score in run.scores():
        if _key(score) not in by_key:
            name = score["conversation_id"]
            raise ConfigError(f"{run.directory}: has scores of {name!r}, and no row of it in conversations-*")
        stated = {n: value for n, value in score.items() if value is not None and n not in _OF_CONVERSATION}
        by_key[_key(score)].scores.append(stated)
    return entries


def _key(row: Mapping[str, Any]) -> ScoredKey:
    return row["conversation_id"], row.get("eval_id"), row.get("app_version")


def turns_of(row: ConversationRow) -> list[AnyRow]:
    """Returns the turns of a transcript; none if it was not written."""
    transcript = row["transcript"]
    return transcript["turns"] if transcript else []


def tools_of(row: ConversationRow) -> list[str]:
    """Returns the names of the tools that a transcript shows as called, one a call."""
    calls = (call for turn in turns_of(row) for call in turn.get("tool_calls") or ())
    return [call["name"] for call in calls if call.get("name")]


# Short names of app versions, unique in a report.


def run_names(runs: Sequence[Run]) -> list[str]:
    """Returns how texts tell runs apart: by their dates, or else by the names of their directories."""
    documents = [run.document for run in runs]
    known = (
        [document.date or "" for document in documents],
        [run.directory.rstrip("/").rsplit("/", 1)[-1] for run in runs],
        [document.run_id for document in documents],
    )
    fits = (names for names in known if all(names) and len({*names}) == len(runs))
    return next(fits, [f"run {number}" for number in range(1, len(runs) + 1)])


def short_names(versions: Sequence[VersionKey], runs: Sequence[str]) -> Iterator[str]:
    """Yields the last segments of the versions; with the name of the run where two are the same."""
    short = [version.app_version.rsplit("/", 1)[-1] or "(no version)" for version in versions]
    for name, version in zip(short, versions, strict=True):
        same = [other for other, seen in zip(versions, short, strict=True) if seen == name]
        if len(same) == 1:
            yield name
        elif not version.app_version:
            yield runs[version.run]
        elif len({other.run for other in same}) == len(same):
            yield f"{name} ({runs[version.run]})"
        else:
            yield f"{version.app_version} ({runs[version.run]})"


# JSON for the page, in which integers stay exact that a number of JavaScript cannot hold.

_LARGEST = 2**53 - 1
_TAG = "$integer"
_TAGGED = re.compile(r"\$+integer")
_SUSPECT = re.compile(r'\d{16}|\$integer"')


def exact_json(value: JsonValue) -> str:
    """Returns compact JSON, with integers beyond ±(2**53 - 1) as `{"$integer": "digits"}`.

    An object that has this form itself gets one more `$` in its key, which the page removes.

    >>> exact_json([1, 2**53 + 1])
    '[1,{"$integer":"9007199254740993"}]'
    """
    text = _compact(value)
    return _compact(_tagged(value)) if _SUSPECT.search(text) else text


def _compact(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"))


def _tagged(value: JsonValue) -> JsonValue:
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else {_TAG: str(value)}
    if isinstance(value, list | tuple):
        return [_tagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if _TAGGED.fullmatch(name):
            return {f"${name}": _tagged(inner)}
    return {name: _tagged(inner) for name, inner in value.items()}
