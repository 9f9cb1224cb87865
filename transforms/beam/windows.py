"""Conversations of a stream: scored once, de-duplicated, revised, counted in windows; and their alerts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b, sha256
from itertools import islice
from math import ceil
from time import time
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
import msgspec
from apache_beam.coders import BooleanCoder
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, AfterProcessingTime, AfterWatermark
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows, GlobalWindow, GlobalWindows
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import PaneInfoTiming, WindowedValue
from msgspec.structs import replace

from turnwise.schemas.config import STATUS, Alert, AlertRule, ScoreLevel
from turnwise.schemas.conversation import Arrival, Receipt, Record
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.rows import ConversationRow, FailureRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunInfo, StreamRules
from turnwise.schemas.score import Failure, Stage
from turnwise.transforms.beam import steps
from turnwise.transforms.beam.sessions import MessagePackCoder, RecordContent, RejectedConversation
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.matching.sample import CaseIndex, Sample, match_case
from turnwise.transforms.metrics import state as metrics
from turnwise.transforms.metrics.state import MetricsState, Tally
from turnwise.transforms.review.row import EvaluatedConversation
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.evaluate import guessed_tools, redacted_counts
from turnwise.transforms.scoring.selection import Selection
from turnwise.transforms.statistics.tests import SampleMoments, always_valid_p, mean_evidence, share_evidence
from turnwise.transforms.text.dates import epoch_seconds
from turnwise.transforms.text.patterns import glob_matches


class WindowMetrics(NamedTuple):
    """Sums of one app version ("": unknown) in one window so far; do not modify them.

    Attributes:
        window_start: Seconds since the epoch; `window_end` is exclusive.
        pane: `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`, as the engine states. Beam's local runner reports the
            pane at the end of a window as LATE after an early pane.
        revision: Number of earlier panes; restarts with the process.
    """

    window_start: float
    window_end: float
    app_version: str
    pane: str
    revision: int
    state: MetricsState


class _AccumulatePanesFn(steps.InspectedDoFn):
    """Accumulates the panes of a window, so that the engine can discard earlier elements."""

    SUMS = ReadModifyWriteStateSpec("sums", steps.StateCoder())
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def __init__(self, lateness: float) -> None:
        self._lateness = lateness

    def process(
        self,
        element: tuple[str, MetricsState],
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
        sums: Any = beam.DoFn.StateParam(SUMS),
        forget: Any = beam.DoFn.TimerParam(FORGET),
    ) -> Iterator[WindowMetrics]:
        state, before = MetricsState(), sums.read()
        for part in (before, element[1]):
            if part is not None:
                state.merge(part)
        sums.write(state)
        if before is None:
            forget.set(window.max_timestamp() + self._lateness)
        timing = PaneInfoTiming.to_string(pane.timing)
        yield WindowMetrics(float(window.start), float(window.end), element[0], timing, pane.index, state)

    @on_timer(FORGET)
    def forget(self, sums: Any = beam.DoFn.StateParam(SUMS)) -> None:
        sums.clear()


@beam.ptransform_fn
def WindowedMetrics(
    changes: "PCollection[tuple[str, MetricsState]]", rules: StreamRules
) -> "PCollection[WindowMetrics]":
    """Accumulates changes by app version and window, and emits the sums repeatedly.

    A window emits its sums every `pane_every` seconds while it is open and changes, when the watermark passes
    its end, and then at every change. Changes later than `window_lateness` after its end are dropped.
    """
    early = AfterProcessingTime(max(1, round(rules.pane_every)))
    panes: Any = {"trigger": AfterWatermark(early=early, late=AfterCount(1))}
    panes |= {"accumulation_mode": AccumulationMode.DISCARDING, "allowed_lateness": rules.window_lateness}
    windowed = changes | "Window" >> beam.WindowInto(FixedWindows(rules.window), **panes)
    add_up = beam.ParDo(_AccumulatePanesFn(rules.window_lateness))
    sums = windowed | "SumPane" >> beam.CombinePerKey(steps.MetricsFn())
    return sums | "AddUp" >> add_up.with_input_types(tuple[str, MetricsState])


class Contribution(NamedTuple):
    """Contribution of one conversation to the metrics.

    Attributes:
        name: The name of its result, or the conversation id if it was joined from events, because a later
            event may change the case and thereby the result's name.
        revision: The highest revision counts; of equal ones, the later one.
        digest: Digest of the record; equal digests are repetitions.
        event_time: Seconds since the epoch; determines the window. Revisions remain in the first window.
        app_version: "": unknown.
    """

    name: str
    revision: int
    digest: bytes
    event_time: float
    app_version: str
    statistics: MetricsState


class RecordOutcome(NamedTuple):
    """Rows that are stored atomically: those of one conversation, or of a record that yielded none.

    Attributes:
        contribution: To the metrics, empty for a rejected joined conversation; None: no conversation.
        receipts: Receipts that are settled when the outcome is stored.
        joined: Record of a conversation joined from events; None: not joined.
        guesses: Tools with inferred effects, `EFFECT|TOOL`.
        judged: Counts of the judge's verdicts, by name.
    """

    conversation_id: str | None
    contribution: Contribution | None
    scores: list[ScoreRow]
    results: list[ResultRow]
    failures: list[FailureRow]
    receipts: tuple[Receipt, ...]
    joined: Record | None = None
    guesses: tuple[str, ...] = ()
    conversations: Sequence[ConversationRow] = ()
    judged: tuple[tuple[str, int], ...] = ()


def rows_of_failures(failures: Iterable[Failure], run: RunInfo) -> list[FailureRow]:
    """Returns the rows of failures, redacted as the run is."""
    return [row for failure in failures for row in metrics.failure_rows(failure, run.run_id, run.redact)]


def failed_outcome(failure: Failure, run: RunInfo) -> RecordOutcome:
    """Returns the outcome of a rejected record or conversation."""
    if failure.joined is not None:
        return rejected_outcome(failure.joined, [failure], run)
    rows = rows_of_failures([failure], run)
    return RecordOutcome(rows[0]["conversation_id"], None, [], [], rows, failure.receipts)


def rejected_outcome(record: Record, failures: Sequence[Failure], run: RunInfo) -> RecordOutcome:
    """Returns the outcome of a closing without a result, which replaces earlier outcomes."""
    assert record.closing is not None
    name, closing = record.closing.session_id, record.closing
    key, digest = f"conversation {name}", _digest(record)
    contribution = Contribution(key, closing.revision, digest, closing.time, "", MetricsState())
    rows = rows_of_failures(failures, run)
    return RecordOutcome(name, contribution, [], [], rows, record.settles(), record)


def failure_of(outcome: RecordOutcome, stage: Stage, error_type: str, message: str) -> Failure:
    """Returns the failure of a stored outcome, or its finding, at the place of its first record."""
    source, position = outcome.receipts[0][:2] if outcome.receipts else (None, None)
    version = outcome.contribution.app_version or None if outcome.contribution else None
    failure = Failure(stage, error_type, message, source, position, conversation_id=outcome.conversation_id)
    failure.app_version, failure.receipts = version, outcome.receipts
    return failure


def _digest(record: Record) -> bytes:
    return blake2b(record.data, digest_size=8).digest()


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """A counted contribution, with packed sums; its event time is the first one's, which sets the window."""

    revision: int
    digest: bytes
    event_time: float
    app_version: str
    statistics: bytes


class SumsChange(NamedTuple):
    """Sums that are added to (`sign` 1) or subtracted from (-1) the window of an event time."""

    sign: int
    event_time: float
    app_version: str
    statistics: MetricsState


def revise(known: Counted | None, new: Contribution) -> tuple[Counted, list[SumsChange]]:
    """Returns the new state of a conversation after a contribution, and the changes of the sums."""
    changes = []
    if known is not None:
        if new.revision < known.revision or (known.revision == new.revision and known.digest == new.digest):
            return known, []
        changes = [SumsChange(-1, known.event_time, known.app_version, metrics.unpacked(known.statistics))]
        new = new._replace(event_time=known.event_time)
    changes.append(SumsChange(1, new.event_time, new.app_version, new.statistics))
    sums = metrics.packed(new.statistics)
    return Counted(new.revision, new.digest, new.event_time, new.app_version, sums), changes


class _CountOnceFn(steps.InspectedDoFn):
    KNOWN = ReadModifyWriteStateSpec("known", MessagePackCoder(Counted))
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def __init__(self, rules: StreamRules) -> None:
        self._length, self._kept_seconds = rules.window, rules.window + rules.window_lateness

    def start_bundle(self) -> None:
        self._sums: dict[tuple[str, float], MetricsState] = {}

    def process(
        self,
        element: tuple[str, Contribution],
        known: Any = beam.DoFn.StateParam(KNOWN),
        forget: Any = beam.DoFn.TimerParam(FORGET),
    ) -> None:
        before = known.read()
        after, changes = revise(before, element[1])
        if after is before:
            return
        for change in changes:
            window = change.app_version, window_start(change.event_time, self._length)
            self._sums.setdefault(window, MetricsState()).merge(change.statistics, change.sign)
        if before is None:
            forget.set(window_start(after.event_time, self._length) + self._kept_seconds)
        known.write(after)

    @on_timer(FORGET)
    def forget(self, known: Any = beam.DoFn.StateParam(KNOWN)) -> None:
        known.clear()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for (version, start), change in self._sums.items():
            if change != MetricsState():
                yield WindowedValue((version, change), Timestamp.of(start), (GlobalWindow(),))


def window_start(time: float, length: float) -> float:
    """Returns the start of the window of a time, exact to a microsecond, as Beam rounds it."""
    micros = int(time * 1_000_000)
    return (micros - micros % round(length * 1e6)) / 1_000_000


@beam.ptransform_fn
def CountOnce(
    outcomes: "PCollection[RecordOutcome]", rules: StreamRules
) -> "PCollection[tuple[str, MetricsState]]":
    """Turns outcomes into changes of sums at their windows' starts; one counts as long as that may change."""
    count = beam.ParDo(_CountOnceFn(rules)).with_output_types(tuple[str, MetricsState])
    return outcomes | "KeyContributions" >> beam.FlatMap(_keyed) | "CountOnce" >> count


def _keyed(outcome: RecordOutcome) -> list[tuple[str, Contribution]]:
    return [(outcome.contribution.name, outcome.contribution)] if outcome.contribution else []


# Scores the conversations of a stream, one outcome per conversation.

OUTCOMES = "outcomes"


class Outcomes(steps.BundleSums):
    """Emits one outcome a conversation, at once, in place of rows and sums."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__()
        self._run = run

    def give(self, batch: Sequence[EvaluatedConversation], timestamp: Timestamp | None) -> list[Any]:
        return [TaggedOutput(OUTCOMES, self._outcome(evaluated, timestamp)) for evaluated in batch]

    def _outcome(self, evaluated: EvaluatedConversation, timestamp: Timestamp | None) -> RecordOutcome:
        scored, conversation = evaluated.scored, evaluated.scored.sample.conversation
        record, (result,) = scored.sample.record, evaluated.results
        statistics = MetricsState()
        statistics.add(scored, evaluated.verdict, evaluated.parts)
        name = f"conversation {conversation.conversation_id}" if record.closing else result["name"]
        event_time = time() if timestamp is None else timestamp.micros / 1e6
        counted = event_time, conversation.app_version or "", statistics
        contribution = Contribution(name, conversation.revision, _digest(record), *counted)
        judged = judged_counts(scored, evaluated.verdict.status) | redacted_counts(scored)
        return RecordOutcome(
            *(result["conversation_id"], contribution, evaluated.scores, evaluated.results),
            *(rows_of_failures(scored.failures, self._run), record.settles()),
            joined=record if record.closing else None,
            guesses=tuple(f"{effect}|{name}" for name, effect in guessed_tools(scored).items()),
            conversations=evaluated.conversations,
            judged=tuple(judged.items()),
        )

    def rejected(self, failure: Failure) -> Any:
        return TaggedOutput(OUTCOMES, failed_outcome(failure, self._run))


class ScoreStreamFn(steps.JudgeFn):
    """Scores conversations, all criteria in one step; whatever else there is becomes an outcome as well.

    Its one output is `OUTCOMES`.
    """

    def __init__(self, selection: Selection, run: RunInfo, judge: JudgeSettings) -> None:
        super().__init__(selection, run, judge, Outcomes(run))

    def process(self, sample: Any, at: Any = steps.TIMESTAMP, window: Any = steps.WINDOW) -> Iterator[Any]:
        if isinstance(sample, Sample):
            yield from super().process(sample, at, window)
        elif isinstance(sample, Failure):
            yield self._emission.rejected(sample)
        elif isinstance(sample, RejectedConversation):
            yield TaggedOutput(OUTCOMES, rejected_outcome(sample.record, sample.failures, self._run))
        else:  # what adds nothing, such as an event that came twice
            yield TaggedOutput(OUTCOMES, RecordOutcome(None, None, [], [], [], sample.receipts))


class ParseArrivalFn(steps.ParsingDoFn):
    """Yields what the record of an arrival holds, at the watermark of then; see `outputs`."""

    def process(self, arrival: Arrival) -> list[Any]:
        is_known = epoch_seconds(arrival.watermark) == arrival.watermark
        record = Record(arrival.source, arrival.position, arrival.data)
        return self.outputs(record, arrival.watermark if is_known else 0.0)


@beam.ptransform_fn
def ParseArrivals(arrivals: "PCollection[Arrival]", reader: LogReader) -> DoOutputsTuple:
    """Turns arrivals into `whole` (conversations and failures), `events` and `grouped`, at the same times."""
    parse = beam.ParDo(ParseArrivalFn(reader))
    return arrivals | "Parse" >> parse.with_outputs(steps.EVENTS, steps.GROUPED, main="whole")


CASE_FAILURES = "case_failures"


class CurrentCases(NamedTuple):
    """Eval cases, and failures of reading them that were not returned before."""

    cases: CaseIndex | None = None
    failures: Sequence[Failure] = ()


CaseLookup: TypeAlias = Callable[[], CurrentCases]
"""Returns the eval cases as they are now, on any worker; must be picklable, so cases are not in the graph.

A side input would have the cases of other times: it is chosen by the time of the event, and an engine may run
the first bundle before it is there.
"""


class MatchArrivalFn(steps.CountingDoFn):
    """Matches conversations with their cases as these are when the bundle begins; passes on the rest."""

    def __init__(self, lookup: CaseLookup) -> None:
        super().__init__()
        self._lookup = lookup

    def start_bundle(self) -> None:
        super().start_bundle()
        self._current = self._lookup()

    def process(self, content: RecordContent) -> list[Any]:
        if isinstance(content, LoggedConversation):
            return [match_case(self._current.cases, *content, self.counts)]
        return [content]

    def finish_bundle(self) -> Iterator[Any]:
        super().finish_bundle()
        for failure in self._current.failures:
            yield TaggedOutput(CASE_FAILURES, GlobalWindows.windowed_value(failure))


class _FirstFn(steps.InspectedDoFn):
    SEEN = ReadModifyWriteStateSpec("seen", BooleanCoder())

    def process(
        self, element: tuple[str, Failure], seen: Any = beam.DoFn.StateParam(SEEN)
    ) -> Iterator[Failure]:
        if not seen.read():
            seen.write(True)
            yield element[1]


@beam.ptransform_fn
def ReportOnce(failures: "PCollection[Failure]") -> "PCollection[Failure]":
    """Yields failures that several workers have once, by their receipts."""
    return failures | "KeyFailures" >> beam.Map(_keyed_stream) | "First" >> beam.ParDo(_FirstFn())


def _keyed_stream(failure: Failure) -> tuple[str, Failure]:
    return "\n".join(f"{receipt.source} {receipt.position}" for receipt in failure.receipts), failure


# Alerts, at most one a window and rule.

OF_NO_VERSION = "no conversation of such an app version was scored"
MAX_WINDOWS = 1000
"""Maximum number of stored windows per app version."""


class _Window(msgspec.Struct, frozen=True, array_like=True):
    """A stored window: packed sums for later baselines, the raised rules, and its position from 1."""

    sums: bytes
    raised: tuple[str, ...]
    number: int


class RaisedWindows(msgspec.Struct, frozen=True, array_like=True):
    """The latest windows by their start, and the number of all windows so far."""

    count: int = 0
    latest: dict[float, _Window] = {}


class AlertRaiser:
    """Evaluates rules on the panes of windows; what it knows of earlier windows is given and returned.

    Attributes:
        untested: Names of the rules that were tested on no pane so far -> why not.
    """

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        self._rules = tuple(alert_rules)
        self.untested = {rule.name: OF_NO_VERSION for rule in self._rules}
        drops = [rule for rule in self._rules if rule.drop]
        self._needed = frozenset(rule.criterion for rule in drops)
        before = max((rule.drop.baseline for rule in drops if rule.drop), default=0)
        self._kept = min(MAX_WINDOWS, before + ceil(rules.window_lateness / rules.window) + 2)

    def raised(self, window: WindowMetrics, past: RaisedWindows | None) -> tuple[list[Alert], RaisedWindows]:
        """Returns the alerts of a pane, and the latest windows of its app version with it."""
        before = past or RaisedWindows()
        start, seen = window.window_start, before.latest
        alerts = []
        known = seen.get(start) or _Window(b"", (), before.count + 1)
        raised = known.raised
        for rule in self._rules:
            if rule.name in raised:
                continue
            # A drop is measured against the last windows before this one that hold conversations.
            states = (metrics.unpacked(seen[at].sums) for at in sorted(seen, reverse=True) if at < start)
            most, baseline = rule.drop.baseline if rule.drop else 0, MetricsState()
            held = list(islice((state for state in states if state.conversations), most))
            for state in held:
                baseline.merge(state)
            of_drop = baseline if held else None, known.number, "no window before can be compared with"
            result = evaluate_rule(rule, window, *of_drop)
            if isinstance(result, Alert):
                raised = (*raised, rule.name)
                alerts.append(result)
            if isinstance(result, Alert) or not result:
                self.untested.pop(rule.name, None)
            elif result != OF_NO_VERSION and rule.name in self.untested:
                self.untested[rule.name] = result
        state = window.state
        tallies = {key: replace(t, sketch=None) for key, t in state.tallies.items() if key[0] in self._needed}
        # Of a baseline count verdicts and some criteria, without quantiles.
        sums = metrics.packed(MetricsState(state.conversations, 0, state.passes, state.fails, tallies))
        seen = {**seen, start: _Window(sums, raised, known.number)}
        latest = {time: seen[time] for time in sorted(seen)[-self._kept :]}
        return alerts, RaisedWindows(max(before.count, known.number), latest)


class _RaiseFn(steps.InspectedDoFn):
    WINDOWS = ReadModifyWriteStateSpec("windows", MessagePackCoder(RaisedWindows))

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        self._raiser = AlertRaiser(rules, alert_rules)

    def process(
        self, element: tuple[str, WindowMetrics], windows: Any = beam.DoFn.StateParam(WINDOWS)
    ) -> list[Alert]:
        alerts, after = self._raiser.raised(element[1], windows.read())
        windows.write(after)
        return alerts


@beam.ptransform_fn
def RaiseAlerts(
    windows: "PCollection[WindowMetrics]", rules: StreamRules, alert_rules: Sequence[AlertRule]
) -> "PCollection[Alert]":
    """Evaluates the rules on every pane of a window; each rule raises at most one alert per window.

    Windows of an app version are compared with each other, so they share one global window.
    """
    keyed = windows | "KeyWindows" >> beam.Map(lambda window: (window.app_version, window))
    together = keyed | "AllWindows" >> beam.WindowInto(GlobalWindows())
    return together | "Raise" >> beam.ParDo(_RaiseFn(rules, alert_rules))


_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class _Finding(NamedTuple):
    kind: str
    threshold: float
    baseline_value: float | None = None
    baseline_count: int | None = None
    p_value: float | None = None

    def text(self, unit: str) -> str:
        if self.kind != "drop":
            return f"{self.kind} {self.threshold:.4g}{unit}"
        chance = f"such a drop by chance: {self.p_value:.2g}; the rule alerts up to {self.threshold:.2g}"
        return f"worse than {self.baseline_value:.4g}{unit} over {self.baseline_count} before ({chance})"


def evaluate_rule(
    rule: AlertRule, window: WindowMetrics, baseline: MetricsState | None, number: int = 1, gap: str = ""
) -> Alert | str:
    """Returns the alert of a rule on a window, or why it was not tested (in full); "": it does not hold.

    A drop is tested at every pane, by a test that is valid however often it is made, against the sums of the
    windows before that the rule's `drop` needs; `gap` says why there are none. `number` is the position of
    the window among all of its app version, from 1.
    """
    # A window has none if its conversations are of another version since.
    if not window.state.conversations or not glob_matches(rule.app_version, window.app_version):
        return OF_NO_VERSION
    level: ScoreLevel = "conversation"
    tally = _level_tally(window.state, rule, level)
    # A rule without a level is about whole conversations if they have scores.
    if rule.criterion != STATUS and (rule.level == "turn" or (not rule.level and tally.is_empty)):
        level, tally = "turn", _level_tally(window.state, rule, "turn")
    value, count = _measured(rule, tally)
    few = f"fewer values than its min_count of {rule.min_count}"
    if value is None:
        return few if count else "n/a: nothing to measure"
    finding: _Finding | None = None
    if rule.above is not None and value > rule.above:
        finding = _Finding("above", rule.above)
    # A low count is tested only at the end of the window.
    elif rule.below is not None and value < rule.below and (window.pane, rule.measure) != ("EARLY", "count"):
        finding = _Finding("below", rule.below)
    elif rule.drop is not None:
        if baseline is None:
            return gap
        base = _level_tally(baseline, rule, level)
        before, of_before = _measured(rule, base)
        if before is None:
            return f"{few} in the baseline"
        p_value = _p_of_drop(rule, base, tally, number)
        if p_value <= rule.drop.significance:
            finding = _Finding("drop", rule.drop.significance, before, of_before, p_value)
    if finding is None:
        return ""
    kind = CRITERIA.get(rule.criterion)
    is_of_values = rule.measure == "mean" or rule.measure in _QUANTILES
    unit = " s" if is_of_values and kind is not None and kind.unit == "seconds" else ""
    measured = f"{rule.measure} of {rule.criterion} ({level}s) is {value:.4g}{unit} over {count}"
    bounds = window.window_start, window.window_end
    start, end = (nanos_timestamp(round(seconds * 1e9)) for seconds in bounds)
    key = "\0".join((rule.name, window.app_version, start, end)).encode("utf-8", "replace")
    return Alert(
        name=f"alerts/a-{sha256(key).hexdigest()[:24]}",
        rule=rule.name,
        window_start=start,
        window_end=end,
        app_version=window.app_version or None,
        criterion=rule.criterion,
        level=level,
        measure=rule.measure,
        value=value,
        count=count,
        **finding._asdict(),
        message=f"{rule.name}: {measured}, {finding.text(unit)}; "
        f"app version {window.app_version or '(no version)'}, {start} to {end}",
    )


def _level_tally(state: MetricsState, rule: AlertRule, level: ScoreLevel) -> Tally:
    if rule.criterion == STATUS:
        return metrics.status_tally(state)
    merged = Tally()
    for (name, turn), tally in state.tallies.items():
        if name == rule.criterion and (turn is None) == (level == "conversation"):
            merged.merge(tally)
    return merged


def _measured(rule: AlertRule, tally: Tally) -> tuple[float | None, int]:
    """Returns what a rule measures (None: there are too few values), and over how many values."""
    decided, everything = tally.passes + tally.fails, tally.scored + tally.no_score
    if rule.measure == "count":
        return everything, everything
    count = {"pass_rate": decided, "no_score_rate": everything}.get(rule.measure, tally.scored)
    if not count or count < rule.min_count:
        return None, count
    if rule.measure == "pass_rate":
        return tally.passes / count, count
    if rule.measure == "no_score_rate":
        return tally.no_score / count, count
    if rule.measure == "mean":
        return tally.mean, count
    return tally.quantile(_QUANTILES[rule.measure]), count


def _p_of_drop(rule: AlertRule, base: Tally, tally: Tally, number: int) -> float:
    """Returns the p-value of values being worse than those before, valid at any time; 1 of too few."""
    now, before = (
        None if t.mean is None or t.variance is None else SampleMoments(t.scored, t.mean, t.variance)
        for t in (tally, base)
    )
    evidence = None
    if rule.measure == "pass_rate":
        counts = tally.passes, tally.passes + tally.fails, base.passes, base.passes + base.fails
        evidence = share_evidence(*counts)
    elif now and before:  # enough values for a variance
        kind = CRITERIA.get(rule.criterion)
        is_cost = kind is not None and kind.gate == "at_most"
        evidence = mean_evidence(before, now) if is_cost else mean_evidence(now, before)
    return 1.0 if evidence is None else always_valid_p(evidence, number)
