"""Figures of a report: rows joined, the first screen in words, slices, what is not green, curves."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import Struct, field

from turnwise.schemas import report
from turnwise.schemas.comparison import NO_VERSION, Bounds, Comparison, FirstPage
from turnwise.schemas.config import DEFAULT_CRITERIA, STATUS, ConfigError
from turnwise.schemas.jsonio import JsonValue, counted, grouped, listed
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import RunDocument, redacted_text, settings_digest
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.comparison.collect import version_order
from turnwise.transforms.decisions.comparison.side_values import SHARES
from turnwise.transforms.decisions.comparison.words import in_table_order, last_parts
from turnwise.transforms.decisions.run import (
    NEXT_STEPS,
    STAGES,
    Run,
    cases_of,
    first_starts,
    shared_reason,
    with_step,
)
from turnwise.transforms.metrics.state import independent_trials, rank_of
from turnwise.transforms.statistics.agreement import GroupSum, grouped_mean_interval
from turnwise.transforms.statistics.power import detectable_of_groups
from turnwise.transforms.statistics.tests import benjamini_hochberg, exact_p, shrink, wilson_interval

FirstTimes = Mapping[str | None, str | None]
"""Of a run: app version -> start of its first conversation in RFC 3339."""
AnyRow = dict[str, Any]
"""A row of a table. Columns that another version of turnwise does not write are absent."""

_OF_CONVERSATION = frozenset(
    ("run_id", "conversation_id", "eval_id", "app_version", "language", "tags", "revision", "event_time")
)


class VersionKey(NamedTuple):
    """A column of the report: an app version of a run; "": the logs do not state it."""

    run: int
    app_version: str


class Entry(Struct):
    """A conversation, its row of `conversations-*`, and its scores.

    `is_repeated`: several conversations of the run have its ids; the first holds the scores of all.
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


class CollectedRuns(Struct):
    """The conversations of some runs; `versions` are in display order.

    Of every run, `sampled_out` conversations were not judged, and `idle` criteria with a threshold applied to
    none. `bounds`: (criterion, whether it is of whole conversations, version) -> interval of the share that
    passes, as the metrics have it; of a stream, there are only those of its windows.
    """

    versions: list[VersionKey] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    failures: list[list[AnyRow]] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    sampled_out: list[int] = field(default_factory=list)
    idle: list[list[str]] = field(default_factory=list)
    bounds: dict[tuple[str, bool, VersionKey], Bounds] = field(default_factory=dict)


def collect(runs: Sequence[Run]) -> CollectedRuns:
    """Reads the rows of runs and joins them; raises ConfigError if scores have no conversation."""
    collected, first_times = CollectedRuns(), list[FirstTimes]()
    for number, run in enumerate(runs):
        joined = [Entry(VersionKey(number, row["app_version"] or ""), row) for row in run.conversations()]
        collected.entries += joined
        alike = grouped((_key(entry.row), entry) for entry in joined)
        for entry in joined:
            entry.is_repeated = len(alike[_key(entry.row)]) > 1
        for score in run.scores():
            if (key := _key(score)) not in alike:
                name = f"{score['conversation_id']!r}, and no row of it in conversations-*"
                raise ConfigError(f"{run.directory}: has scores of {name}")
            stated = {
                n: value for n, value in score.items() if value is not None and n not in _OF_CONVERSATION
            }
            alike[key][0].scores.append(stated)
        starts = ((entry.row["app_version"], entry.row["event_time"]) for entry in joined)
        first_times.append(first_starts(starts))
        rows = run.metrics()
        collected.units |= {row["criterion"]: row["unit"] for row in rows}
        # What sampling left out: of the criterion with most, by version and window.
        version_and_window = itemgetter("app_version", "window_start")
        left_out = grouped((version_and_window(row), row["sampled_out"] or 0) for row in rows)
        collected.sampled_out.append(sum(map(max, left_out.values())))
        for row in rows:
            low, high = row["pass_rate_low"], row["pass_rate_high"]
            if row["window_start"] is None and low is not None and high is not None:
                version = VersionKey(number, row["app_version"] or "")
                level = row["level"] == "conversation"
                collected.bounds[row["criterion"], level, version] = Bounds(low, high)
        # Nobody asked for the criteria of the default config.
        is_asked = bool(joined) and run.document.config.get("criteria") != DEFAULT_CRITERIA
        seen = {row["criterion"] for row in [*rows, *(score for entry in joined for score in entry.scores)]}
        collected.idle.append([name for name in run.document.thresholds if is_asked and name not in seen])
    collected.failures += ([dict(row) for row in run.failures()] for run in runs)
    collected.versions += in_display_order({entry.version for entry in collected.entries}, first_times)
    return collected


def in_display_order(keys: Iterable[VersionKey], first_times: Sequence[FirstTimes]) -> list[VersionKey]:
    """Returns versions run by run, the oldest first; those that no log states come last."""
    orders = [version_order(times).versions for times in first_times]
    in_order = [VersionKey(run, name) for run, names in enumerate(orders) for name in names]
    order = {key: number for number, key in enumerate(in_order)}
    return sorted(keys, key=lambda key: (not key.app_version, key.run, order.get(key, 0)))


def _key(row: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    """Returns what joins scores with a conversation."""
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
    dates, ids = [document.date or "" for document in documents], [document.run_id for document in documents]
    known = dates, [run.directory.rstrip("/").rsplit("/", 1)[-1] for run in runs], ids
    fits = (names for names in known if all(names) and len({*names}) == len(runs))
    return next(fits, [f"run {number}" for number in range(1, len(runs) + 1)])


def short_names(versions: Sequence[VersionKey], runs: Sequence[str]) -> Iterator[str]:
    """Yields the segments that tell versions apart; with the name of the run where it is in several."""
    stated = [version.app_version or NO_VERSION for version in versions]
    short, number_of = last_parts(stated), Counter(stated)
    for name, version in zip(stated, versions, strict=True):
        of_run = f"{short[name]} ({runs[version.run]})" if version.app_version else runs[version.run]
        yield short[name] if number_of[name] == 1 else of_run


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
    text = json.dumps(value, separators=(",", ":"))
    return json.dumps(_tagged(value), separators=(",", ":")) if _SUSPECT.search(text) else text


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


# Figures.

_IDS_SHOWN = 3
_OF_DOCUMENT = ("run_id", "date", "create_time", "exit_status", "problems", "counts", "criteria", "judge")


class Compared(Struct, frozen=True):
    """Comparisons of pairs of versions with first pages, and why others are refused, a sentence each."""

    comparisons: Sequence[Comparison] = ()
    refused: Sequence[str] = ()
    pages: Sequence[FirstPage] = ()


def coverage_sentence(
    run: report.ReportRun, versions: Sequence[report.ReportVersion], no_score: int, scores: int
) -> str:
    """Returns the balance of a run: what came in, and what became of all of it."""
    passed = sum(version.passed for version in versions)
    failed = sum(version.failed for version in versions)
    no_verdict = sum(version.no_verdict for version in versions)
    names = ("records", "parsed_records", "rejected_records", "rejected_conversations", "rejected_cases")
    records, read, unread, rejected, lost_cases = (run.counts.get(name) or 0 for name in names)
    cases = f"{counted(lost_cases, 'eval case', ',')} rejected. " if lost_cases else ""
    valued = scores - no_score
    text = (
        f"{counted(records, 'record', ',')} = {read:,} read + {unread:,} rejected. "
        f"{counted(passed + failed + no_verdict + rejected, 'conversation', ',')} = {passed:,} passed "
        f"+ {failed:,} failed + {no_verdict:,} without a verdict + {rejected:,} rejected. {cases}"
        f"{counted(scores, 'score', ',')} = {valued:,} with a value + {no_score:,} without a score."
    )
    parts = [f"Judge: {run.judge.get('model') or run.judge.get('backend') or 'none'}"]
    usage = run.judge.get("usage")
    if isinstance(usage, dict):
        kinds = [pair for used in usage.values() for pair in (used.get("unusable") or {}).items()]
        # What was not asked, or is not answered yet, stands on the first page.
        unusable = sum(number for kind, number in kinds if kind not in ("budget", "batch"))
        parts.append(f"{unusable:,} unusable answers")
    parts.append(f"{run.sampled_out:,} conversations sampled out")
    hidden = f" {run.redacted[0].upper()}{run.redacted[1:]}." if run.redacted else ""
    return f"{run.name}: {text} {', '.join(parts)}.{hidden}"


def report_runs(runs: Sequence[Run], collected: CollectedRuns) -> Iterator[report.ReportRun]:
    """Yields what a report says about its runs."""
    by_run = grouped((entry.version.run, entry) for entry in collected.entries)
    for i, run in enumerate(runs):
        document, entries = run.document, by_run.get(i, [])
        repeated = sorted({entry.row["conversation_id"] for entry in entries if entry.is_repeated})
        name = run.name or (document.run_id if len(runs) > 1 else "This run")
        gaps = []  # what was asked for and not measured at all
        if unused := document.counts.get("unused_cases") or 0:
            cases = counted(document.counts.get("cases") or unused, "eval case", ",")
            verb = "has" if unused == 1 else "have"
            gaps.append(f"{name}: {unused:,} of {cases} {verb} no recording; nothing is known of them.")
        if repeated:
            ids = f"{counted(len(repeated), 'conversation id', ',')} ({listed(repeated, _IDS_SHOWN)})"
            same = "several recordings of one app version and case have the same id"
            unsaid = "their scores cannot be told apart, and are not shown beside them"
            gaps.append(f"{name}: {same}: {ids}; {unsaid}.")
        not_applicable = "has a threshold, and is not applicable to any conversation."
        gaps += [f"{name}: {criterion} {not_applicable}" for criterion in collected.idle[i]]
        yield report.ReportRun(
            **{key: getattr(document, key) for key in _OF_DOCUMENT},
            name=name,
            directory=run.directory,
            settings=settings_digest(document.scoring_settings),
            has_transcripts=not entries or any(entry.row["transcript"] is not None for entry in entries),
            redacted=redacted_text(document.redacted),
            sampled_out=collected.sampled_out[i],
            gaps=gaps,
        )


# Where it goes wrong: outcomes by language, tag, tool and length, and which of them stand out.

FALSE_DISCOVERY_RATE = 0.1
_MOST_SLICES = 60
_BUCKETS = ((1, "1"), (3, "2 to 3"), (6, "4 to 6"), (10, "7 to 10"))
_PLACE = {"PASS": 0, "FAIL": 1, None: 2}


SliceKey = tuple[str, str]
"""Kind and value of a slice."""
_ALL: SliceKey = ("", "")
CriterionOfVersion = tuple[str, VersionKey]
"""Criterion and version."""
_CellKey = tuple[SliceKey, CriterionOfVersion]
OutcomeCounts = dict[CriterionOfVersion, list[int]]
"""Passed, failed, no score."""


def outcomes(entry: Entry) -> dict[str, str | None]:
    """Returns criterion -> outcome of a conversation: its own, or else FAIL if one of its turns fails.

    None: without a value. Criteria without a threshold are left out.
    """
    by_criterion: dict[str, str | None] = {}
    by_turn: dict[str, set[str | None]] = {}
    for score in entry.own_scores:
        outcome = score.get("outcome")
        if outcome not in _PLACE or (outcome is None and "value" in score):
            continue
        if "turn_index" in score:
            by_turn.setdefault(score["criterion"], set()).add(outcome)
        else:
            by_criterion[score["criterion"]] = outcome
    for name, seen in by_turn.items():
        if name not in by_criterion:
            by_criterion[name] = "FAIL" if "FAIL" in seen else None if None in seen else "PASS"
    return {STATUS: entry.row["verdict"], **by_criterion}


def slices(collected: CollectedRuns) -> Iterator[report.Slice]:
    """Yields the slices that do not hold every conversation, the largest first within their kind."""
    sizes: Counter[SliceKey] = Counter()
    counts: dict[SliceKey, OutcomeCounts] = {}
    for entry in collected.entries:
        row, outcome_of = entry.row, outcomes(entry)
        keys = [_ALL, *([("language", row["language"])] if row["language"] else [])]
        keys += [("tag", tag) for tag in dict.fromkeys(row["tags"])]
        keys += [("tool", name) for name in dict.fromkeys(tools_of(row))]
        if turns := row["turns"]:
            keys.append(("turns", next((text for most, text in _BUCKETS if turns <= most), "over 10")))
        for key in keys:
            sizes[key] += 1
            of_slice = counts.setdefault(key, {})
            for name, outcome in outcome_of.items():
                of_slice.setdefault((name, entry.version), [0, 0, 0])[_PLACE[outcome]] += 1
    partial = [(key, size) for key, size in sizes.most_common() if size < len(collected.entries)]
    chosen = sorted(partial[:_MOST_SLICES], key=lambda counted: (counted[0][0], -counted[1], counted[0][1]))
    cells = {(key, of): cell for key, _ in chosen for of, cell in counts[key].items()}
    figures = _figures(cells, counts.get(_ALL, {}))
    for key, size in chosen:
        names = dict.fromkeys(name for name, _ in counts[key])
        by_name = {name: [figures.get((key, (name, v))) for v in collected.versions] for name in names}
        yield report.Slice(*key, size, by_name)


def _figures(cells: dict[_CellKey, list[int]], totals: OutcomeCounts) -> dict[_CellKey, report.SliceFigure]:
    """Compares every slice with the rest of its version, and corrects for the number of slices by version."""
    figures = {key: report.SliceFigure(counts[0], counts[1], counts[2]) for key, counts in cells.items()}
    sides: dict[_CellKey, tuple[int, int, int, int]] = {}
    for key, (passed, failed, _) in cells.items():
        rest_passed, rest_failed = totals[key[1]][0] - passed, totals[key[1]][1] - failed
        if passed + failed and rest_passed + rest_failed:
            sides[key] = passed, passed + failed, rest_passed, rest_passed + rest_failed
    stands_out: dict[_CellKey, bool] = {}
    for keys in grouped((version, (key, (name, version))) for key, (name, version) in sides).values():
        adjusted = benjamini_hochberg([exact_p(*sides[key]) for key in keys])
        stands_out |= {key: p < FALSE_DISCOVERY_RATE for key, p in zip(keys, adjusted, strict=True)}
    for keys in grouped((of, (key, of)) for key, of in sides).values():
        differences = [sides[key][0] / sides[key][1] - sides[key][2] / sides[key][3] for key in keys]
        variances = [_variance(*sides[key][:2]) + _variance(*sides[key][2:]) for key in keys]
        for key, difference, shrunk in zip(keys, differences, shrink(differences, variances), strict=True):
            passes, size, base_passes, base_size = sides[key]
            pooled = (passes + base_passes) / (size + base_size)
            seen = detectable_of_groups(pooled, (size, base_size))
            passed, failed, missing = cells[key]
            about = difference, shrunk, stands_out[key], seen
            figures[key] = report.SliceFigure(passed, failed, missing, *about)
    return figures


def _variance(passes: int, size: int) -> float:
    """Returns the variance of a share, to which half a pass and half a failure are added."""
    share = (passes + 0.5) / (size + 1)
    return share * (1 - share) / size


# What is not green: scores without a value by reason, and failures with their records.

NO_REASON = "no reason is stated"
LONGEST_RECORD = 4000
_LONGEST_REASON = 300
_MOST_REASONS = 200
_EXAMPLES = 10
_ROWS = 25


def without_score(collected: CollectedRuns, entries: Sequence[Entry]) -> list[report.WithoutScore]:
    """Returns scores without a value and verdicts not reached, by reason, most frequent first.

    Places in the reading order of `entries` are given as examples.
    """
    places = {version: index for index, version in enumerate(collected.versions)}
    by_reason: list[tuple[tuple[str, int, str], int]] = []
    for index, entry in enumerate(entries):
        reasons = [(s["criterion"], s.get("reason")) for s in entry.scores if "value" not in s]
        reasons += [(STATUS, entry.row["reason"])] if entry.row["verdict"] is None else []
        for name, reason in reasons:
            text = shared_reason(reason or NO_REASON)
            shown = text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
            by_reason.append(((name, places[entry.version], shown), index))
    ranked = sorted(grouped(by_reason).items(), key=lambda reason: (-len(reason[1]), reason[0]))
    known = ((key, len(seen), [*dict.fromkeys(seen)][:_EXAMPLES]) for key, seen in ranked[:_MOST_REASONS])
    rows = [report.WithoutScore(*key, number, examples) for key, number, examples in known]
    rest = sum(len(indices) for _, indices in ranked[_MOST_REASONS:])
    return [*rows, report.WithoutScore("", -1, "other reasons", rest, [])] if rest else rows


def failure_groups(failures: Sequence[Sequence[AnyRow]]) -> list[report.FailureGroup]:
    """Returns failures and findings by stage and error, failures first, then the most frequent first."""
    with_run = [{**row, "run": index} for index, rows in enumerate(failures) for row in rows]
    kinds = grouped(((row.get("stage") or "", row.get("error_type") or ""), row) for row in with_run)
    groups = []
    for key, rows in kinds.items():
        shown = [{name: value for name, value in row.items() if value is not None} for row in rows[:_ROWS]]
        for row in shown:  # a record fits on a screen
            if record := row.pop("record", ""):
                row |= {"record": record[:LONGEST_RECORD], "record_cut": max(0, len(record) - LONGEST_RECORD)}
        noun, what = STAGES.get(key[0], ("failure", f"in {key[0]}"))
        kind, sentence = ": ".join(key), f"{counted(len(rows), noun)} {what} ({key[1]})"
        sentence = with_step(kind, len(rows)) if kind in NEXT_STEPS else sentence
        groups.append(report.FailureGroup(*key, len(rows), sentence, shown))
    return sorted(groups, key=lambda group: (group.stage == "check", -group.count, group.stage))


# Distributions of latencies, tokens and counts, by version.

STEPS = 100


def curves(collected: CollectedRuns) -> Iterator[report.Curve]:
    """Yields the distributions of every criterion without a scale, and of tokens a conversation."""
    places = {version: index for index, version in enumerate(collected.versions)}
    by_place: dict[tuple[str, int, str], list[float | None]] = {}
    for entry in collected.entries:
        tokens = entry.row["tokens_in"], entry.row["tokens_out"]
        values: list[tuple[str, str, float | None]]
        values = [("tokens_in", "tokens", tokens[0]), ("tokens_out", "tokens", tokens[1])]
        for score in entry.scores:
            unit = collected.units.get(score["criterion"], "score")
            if unit != "score" and "turn_index" in score:
                values.append((score["criterion"], unit, score.get("value")))
        for quantity, unit, value in values:
            by_place.setdefault((quantity, places[entry.version], unit), []).append(value)
    known = {key: sorted(v for v in values if v is not None) for key, values in by_place.items()}
    measured = {quantity for (quantity, _, _), values in known.items() if values}
    for key in sorted(key for key in by_place if key[0] in measured):
        (quantity, version, unit), ordered = key, known[key]
        ranks = (rank_of(i / STEPS, len(ordered)) for i in range(STEPS + 1))
        quantiles = [ordered[rank] for rank in ranks] if ordered else []
        missing = len(by_place[key]) - len(ordered)
        yield report.Curve(quantity, unit, version, len(ordered), missing, quantiles)


# The table of criteria: figures by version, with intervals.

_SHARE = (0.0, 1.0)
_MOST_TURNS = 50


class _Sum(Struct):
    """Scores of one criterion, one level and one version; values by case."""

    no_score: int = 0
    passed: int = 0
    failed: int = 0
    is_binary: bool = True
    values: dict[str, GroupSum] = field(default_factory=dict)

    def add(self, value: float | None, outcome: str | None, special: Sequence[float], case: str) -> None:
        if value is None:
            self.no_score += 1
        elif value not in special:
            size, total = self.values.get(case, (0, 0.0))
            self.values[case] = GroupSum(size + 1, total + value)
            self.is_binary = self.is_binary and value in _SHARE
        self.passed += outcome == "PASS"
        self.failed += outcome == "FAIL"

    @property
    def scored(self) -> int:
        return sum(group.size for group in self.values.values())

    @property
    def mean(self) -> float | None:
        scored = self.scored
        return sum(group.total for group in self.values.values()) / scored if scored else None

    @property
    def share(self) -> float | None:
        decided = self.passed + self.failed
        return self.passed / decided if decided else None

    @property
    def shown(self) -> float | None:
        return self.mean if self.share is None else self.share


def criterion_rows(runs: CollectedRuns, documents: Iterable[RunDocument] = ()) -> list[report.CriterionRow]:
    """Returns the rows of the table, in the order of all tables: verdicts first, then as configured."""
    measured = (score["criterion"] for entry in runs.entries for score in entry.scores)
    names = in_table_order([STATUS, *dict.fromkeys(measured)], documents)
    return [*map(_Table(runs).row, names)]


class _Table:
    """Sums of scores: by criterion, whether they are of whole conversations, and version; and by turn."""

    def __init__(self, collected: CollectedRuns) -> None:
        self._collected = collected
        self._sums: defaultdict[tuple[str, bool, VersionKey], _Sum] = defaultdict(_Sum)
        self._turns: defaultdict[tuple[str, VersionKey], defaultdict[int, _Sum]]
        self._turns = defaultdict(lambda: defaultdict(_Sum))
        self._cases: dict[VersionKey, list[str]] = {}
        rows = ((row, i) for i, of_run in enumerate(collected.failures) for row in of_run)
        raised = ((row, i) for row, i in rows if row.get("stage") == "score" and row.get("criterion"))
        keys = ((row["criterion"], VersionKey(i, row.get("app_version") or "")) for row, i in raised)
        self._errors = Counter(keys)
        by_version = grouped((entry.version, entry) for entry in collected.entries)
        for version, entries in by_version.items():
            self._cases[version] = cases_of([entry.row for entry in entries])
            for entry, case in zip(entries, self._cases[version], strict=True):
                verdict = entry.row["verdict"]
                self._sums[STATUS, True, version].add(SHARES.get(verdict), verdict, (), case)
                for score in entry.scores:
                    name, turn = score["criterion"], score.get("turn_index")
                    kind = CRITERIA.get(name)
                    given = score.get("value"), score.get("outcome"), kind.special_values if kind else ()
                    self._sums[name, turn is None, version].add(*given, case)
                    if turn is not None and 0 <= turn < _MOST_TURNS:
                        self._turns[name, version][turn].add(*given, case)

    def row(self, name: str) -> report.CriterionRow:
        # Scores and costs are shown by conversation, latencies and counts by turn, as in the table of a run.
        kind, versions = CRITERIA.get(name), self._collected.versions
        of_values = kind.scale if kind else _SHARE
        wanted = name == STATUS or of_values is not None or (kind is not None and kind.unit == "money")
        is_whole = wanted == any((name, wanted, version) in self._sums for version in versions)
        totals = [self._sums.get((name, is_whole, version)) for version in versions]
        has_outcomes = any(total is not None and total.share is not None for total in totals)
        scale = _SHARE if has_outcomes else of_values
        figures: list[report.CriterionFigure | None] = []
        for version, total in zip(versions, totals, strict=True):
            if total is None:
                figures.append(None)
                continue
            is_binary = scale == _SHARE and total.is_binary
            share = total.share if has_outcomes else total.mean if is_binary else None
            if share is not None:
                # Outcomes, also by another name, have the interval that the metrics of a run give to a share.
                cases, decided = self._cases[version], total.passed + total.failed
                size = decided if has_outcomes else total.scored
                trials = independent_trials(size, len({*cases}), len(cases))
                bounds = self._collected.bounds.get((name, is_whole, version)) if has_outcomes else None
                interval = bounds or wilson_interval(share * trials, trials)
            else:
                interval = None if has_outcomes else grouped_mean_interval([*total.values.values()], scale)
            low, high = interval or (None, None)
            turns = self._turns[name, version]
            in_order = (turns[i] for i in range(max(turns, default=-1) + 1))
            figure = report.CriterionFigure(
                count=total.scored + total.no_score,
                scored=total.scored,
                no_score=total.no_score,
                errors=self._errors[name, version],
                passed=total.passed,
                failed=total.failed,
                mean=total.mean,
                share=total.share,
                low=low,
                high=high,
                by_turn=[(of_turn.shown, of_turn.scored + of_turn.no_score) for of_turn in in_order],
            )
            figures.append(figure)
        lowest, highest = scale or (None, None)
        level = "conversation" if is_whole else "turn"
        unit = self._collected.units.get(name, "score")
        valued = (total for total in totals if total and total.scored)
        is_share = has_outcomes or (unit == "score" and all(total.is_binary for total in valued))
        about = " ".join((kind.__doc__ or "").partition("\n\n")[0].split()) if kind else ""
        return report.CriterionRow(name, unit, level, lowest, highest, figures, about, is_share)
