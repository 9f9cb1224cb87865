"""Wires a batch run: sources, parsing, matching, scoring, metrics, sinks."""

from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.batch.join_on_disk import JoinOnDisk
from turnwise.pipeline.io.directory import AGGREGATED, SINGLE_FILES
from turnwise.pipeline.io.run_files import Sink
from turnwise.pipeline.io.sources import ReadRecords, Source
from turnwise.pipeline.report.counts import failure_counters
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.failure import Failure
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn, total_counts
from turnwise.transforms.beam.judge_turns import JudgeTurns
from turnwise.transforms.beam.match import USED, MatchCases, count_unused_cases
from turnwise.transforms.beam.metrics import MetricsFn
from turnwise.transforms.beam.parse import (
    FAILURES,
    Joined,
    JoinSessions,
    NamedGroups,
    NameGroups,
    ParseConversations,
    Parsed,
    ParsedCases,
    ParseEvalCases,
)
from turnwise.transforms.beam.reading_list import ToReadFn
from turnwise.transforms.beam.score_turns import ROW_TABLES, STATISTICS, TO_READ, ScoreTurns
from turnwise.transforms.ces.aggregates import VersionSums, aggregated_metrics
from turnwise.transforms.formats.events import may_hold_events, may_hold_groups
from turnwise.transforms.formats.parsing import LoggedConversation
from turnwise.transforms.formats.readers import CaseReader, LogReader
from turnwise.transforms.metrics.rows import failure_rows, slice_rows, turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState

BY_VERSION, BY_TURN, BY_SLICE = SINGLE_FILES
SESSIONS = "Sessions"


def build(root: beam.Pipeline, logs: Source, cases: Source | None, settings: RunSettings, sink: Sink) -> None:
    """Adds a whole run to a pipeline.

    Args:
        root: The pipeline.
        logs: Source of conversation logs.
        cases: Source of eval cases; None: conversations have none, or bring their own.
        settings: Settings of the run.
        sink: Sink for the tables.
    """
    read = logs.read(root, "Logs")
    reader = LogReader(settings.input_format, settings.config)
    parsed = read.records | "ParseConversations" >> ParseConversations(reader, settings.is_distributed)
    given = _read_cases(root, cases, settings)
    eval_cases = given[0].cases if given else None
    parts, joined = _conversations(parsed, settings)
    steps = (read, parsed, *given, *joined)
    failures, counts = [step.failures for step in steps], [step.counts for step in steps]
    states, used, to_read = [], [], []
    for part, conversations in parts.items():
        matched = conversations | f"MatchCases{part}" >> MatchCases(eval_cases)
        scored = matched["matched"] | f"ScoreTurns{part}" >> _scoring(settings)
        for table in ROW_TABLES:
            sink.write_table(scored[table], table, part)
        used.append(matched[USED])
        to_read.append(scored[TO_READ])
        states.append(scored[STATISTICS] | f"Metrics{part}" >> beam.CombinePerKey(MetricsFn()))
        failures += [matched[FAILURES], scored[FAILURES]]
        counts += [matched[COUNTS], scored[COUNTS]]
    _write_metrics(states, settings, sink)
    if eval_cases is not None:
        counts.append(count_unused_cases(eval_cases, used))
    counts.append(_write_failures(failures, settings, sink))
    chosen = to_read | "AllToRead" >> beam.Flatten() | "ToRead" >> beam.CombineGlobally(ToReadFn())
    sink.finish(root, total_counts(counts), chosen)


def _conversations(
    parsed: Parsed, settings: RunSettings
) -> "tuple[dict[str, PCollection[LoggedConversation]], list[NamedGroups | Joined]]":
    """Returns the conversations by the name of their part, and the steps that joined some of events."""
    if not may_hold_events(settings.input_format):
        return {"": parsed.conversations}, []
    if not settings.is_distributed:
        joined = parsed.events | "JoinOnDisk" >> JoinOnDisk()
        return {"": parsed.conversations, SESSIONS: joined.conversations}, [joined]
    steps: list[NamedGroups | Joined] = []
    events = parsed.events
    if may_hold_groups(settings.input_format):
        named = parsed.grouped | "NameGroups" >> NameGroups()
        events = (events, named.events) | "Events" >> beam.Flatten()
        steps.append(named)
    joined = events | "JoinSessions" >> JoinSessions()
    return {"": parsed.conversations, SESSIONS: joined.conversations}, [*steps, joined]


def _write_failures(
    failures: "list[PCollection[Failure]]", settings: RunSettings, sink: Sink
) -> "PCollection[dict[str, int]]":
    write = _FailureRowsFn(settings.run.run_id)
    rows = (
        failures
        | "Failures" >> beam.Flatten()
        | "FailureRows" >> beam.ParDo(write).with_outputs(COUNTS, main="rows")
    )
    sink.write_table(rows["rows"], "failures")
    counts: PCollection[dict[str, int]] = rows[COUNTS]
    return counts


def _scoring(settings: RunSettings) -> "ScoreTurns | JudgeTurns":
    selection = settings.selection
    if selection.needs_judge:
        return JudgeTurns(selection, settings.run, settings.judge)
    return ScoreTurns(selection.measured, settings.run)


class _FailureRowsFn(CountingDoFn):
    """Yields the rows of failures, and counts them by kind."""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id

    def process(self, failure: Failure) -> Iterator[list[FailureRow]]:
        rows = failure_rows(failure, self._run_id)
        for row in rows:
            self.counts.update(failure_counters(row))
        yield rows


def _read_cases(
    root: beam.Pipeline, cases: Source | None, settings: RunSettings
) -> "tuple[ParsedCases, ReadRecords] | tuple[()]":
    if cases is None:
        return ()
    read = cases.read(root, "Cases")
    parsed = read.records | "ParseEvalCases" >> ParseEvalCases(CaseReader(settings.config.ces))
    return parsed, read


def _write_metrics(
    parts: "list[PCollection[tuple[str, MetricsState]]]", settings: RunSettings, sink: Sink
) -> None:
    states = parts | "AllMetrics" >> beam.Flatten() | "MetricsOfRun" >> beam.Map(_of_run)
    gathered = states | "GatherMetrics" >> beam.GroupByKey()
    metrics = gathered | "MetricRows" >> beam.ParDo(_MetricRowsFn(settings.run.run_id)).with_outputs(
        BY_TURN, BY_SLICE, AGGREGATED, main=BY_VERSION
    )
    for table in SINGLE_FILES:
        sink.write_table(metrics[table], table)
    sink.write_document(metrics[AGGREGATED], AGGREGATED)


def _of_run(entry: tuple[str, MetricsState]) -> tuple[str, tuple[str, MetricsState]]:
    return "", entry


class _MetricRowsFn(beam.DoFn):
    """Yields the metrics tables and the aggregated metrics of a run from the sums of all app versions."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def process(self, element: tuple[str, Iterable[tuple[str, MetricsState]]]) -> Iterator[Any]:
        versions: dict[str, MetricsState] = {}
        for version, state in element[1]:
            versions.setdefault(version, MetricsState()).merge(state)
        for entry in versions.items():
            yield version_rows(entry, self._run_id)
            yield beam.pvalue.TaggedOutput(BY_TURN, turn_rows(entry, self._run_id))
            yield beam.pvalue.TaggedOutput(BY_SLICE, slice_rows(entry, self._run_id))
        yield beam.pvalue.TaggedOutput(AGGREGATED, aggregate_versions(list(versions.items())))


def aggregate_versions(states: list[tuple[str, MetricsState]]) -> JsonObject:
    """Returns CES's AggregatedMetrics over all app versions, keyed by their last segment."""
    merged: dict[str, MetricsState] = {}
    for version, state in states:
        merged.setdefault(version.rsplit("/", 1)[-1], MetricsState()).merge(state)
    return aggregated_metrics({v: VersionSums(s.passes, s.fails, s.ces) for v, s in merged.items()})
