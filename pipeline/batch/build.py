"""Wires a batch run: sources, parsing, matching, scoring, metrics, sinks."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.run_writer import AGGREGATED, SINGLE_FILES, Sink, Told
from turnwise.pipeline.io.sources import ParseAndJoin, Source
from turnwise.pipeline.report.run_counts import failure_counters
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.jsonio import JsonObject, grouped
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Failure
from turnwise.transforms.beam import steps
from turnwise.transforms.ces.judgements import VersionSums, aggregated_metrics
from turnwise.transforms.formats.events import may_hold_events, may_hold_groups
from turnwise.transforms.formats.reading import CaseReader, LoggedConversation, LogReader
from turnwise.transforms.metrics import state as metrics

SESSIONS = "Sessions"


class Scored(NamedTuple):
    """Sums by app version, and what is told when the run ends, beside the rows that are written."""

    states: "list[PCollection[tuple[str, metrics.MetricsState]]]"
    reports: "list[PCollection[tuple[str, Told]]]"


def build(root: beam.Pipeline, logs: Source, cases: Source | None, settings: RunSettings, sink: Sink) -> None:
    """Adds a whole run to a pipeline; without `cases`, conversations bring theirs, or have none."""
    build_end(root, build_scoring(root, logs, cases, settings, sink), settings, sink)


def build_scoring(
    root: beam.Pipeline,
    logs: Source,
    cases: Source | None,
    settings: RunSettings,
    sink: Sink,
    *,
    reports_cases: bool = True,
) -> Scored:
    """Adds the steps up to rows and sums; `reports_cases`: also what became of the eval cases, once a run."""
    parts, sources = _conversations(root, logs, settings)
    failures = [source.failures for source in sources]
    reports = [source.counts for source in sources]
    eval_cases: PCollection[bytes] | None = None
    # Beam removes the directory when the pipeline has run, whatever its end.
    path = "" if settings.is_distributed else os.path.join(root.local_tempdir, "eval_cases")
    if cases is not None:
        read = cases.read(root, "Cases")
        reader = CaseReader(settings.config.ces)
        parsed, distinct = read.records | "ParseEvalCases" >> steps.ParseEvalCases(reader, path)
        if reports_cases:
            failures += [read.failures, parsed.failures, distinct.failures]
            reports += [read.counts, parsed.counts, distinct.counts]
        eval_cases = distinct.cases
    states = []
    for part, conversations in parts.items():
        match = steps.MatchCases(eval_cases, settings.config.match_cases_by, path)
        score = steps.ScoreTurns(settings.selection, settings.run, settings.judge)
        matched = conversations | f"MatchCases{part}" >> match
        scored = matched["matched"] | f"ScoreTurns{part}" >> score
        sink.write_tables(scored[steps.ROWS], steps.ROW_TABLES, part)
        states.append(scored[steps.STATISTICS] | f"Metrics{part}" >> beam.CombinePerKey(steps.MetricsFn()))
        failures += [matched[steps.FAILURES], scored[steps.FAILURES]]
        reports += [matched[steps.COUNTS], scored[steps.COUNTS], scored[steps.TO_READ]]
    write = _FailureRowsFn(settings.run)
    rejected = failures | "Failures" >> beam.Flatten()
    rows = rejected | "FailureRows" >> beam.ParDo(write).with_outputs(steps.COUNTS, main="rows")
    sink.write_tables(rows["rows"], (steps.FAILURES,))
    return Scored(states, [*reports, rows[steps.COUNTS]])


def build_end(root: beam.Pipeline, scored: Scored, settings: RunSettings, sink: Sink) -> None:
    """Adds the second half of a run: metrics, `run.json` and the names of all files."""
    parts = scored.states
    states = parts[0] if len(parts) == 1 else parts | "AllMetrics" >> beam.Flatten()
    gathered = states | "MetricsOfRun" >> beam.Map(_of_run) | "GatherMetrics" >> beam.GroupByKey()
    rows = gathered | "MetricRows" >> beam.ParDo(_MetricRowsFn(settings.run.run_id))
    sink.write_tables(rows, (*SINGLE_FILES, AGGREGATED))
    sink.finish(root, scored.reports)


def _conversations(
    root: beam.Pipeline, logs: Source, settings: RunSettings
) -> "tuple[dict[str, PCollection[LoggedConversation]], list[Any]]":
    """Adds the steps up to conversations; returns these by part of the run, and the steps."""
    read = logs.read(root, "Logs")
    reader = LogReader(settings.input_format, settings.config)
    if not settings.is_distributed:
        joined = read.records | "ParseConversations" >> ParseAndJoin(reader, is_alone=settings.workers == 1)
        return {"": joined.conversations}, [read, joined]
    parsed = read.records | "ParseConversations" >> steps.ParseConversations(reader)
    if not may_hold_events(settings.input_format):
        return {"": parsed.conversations}, [read, parsed]
    events, sources = parsed.events, [read, parsed]
    if may_hold_groups(settings.input_format):
        named = parsed.grouped | "NameGroups" >> steps.NameGroups()
        events = (events, named.events) | "Events" >> beam.Flatten()
        sources.append(named)
    joined = events | "JoinSessions" >> steps.JoinSessions()
    return {"": parsed.conversations, SESSIONS: joined.conversations}, [*sources, joined]


class _FailureRowsFn(steps.CountingDoFn):
    def __init__(self, run: RunInfo) -> None:
        super().__init__()
        self._run = run

    def process(self, failure: Failure) -> Iterator[tuple[str, list[FailureRow]]]:
        rows = metrics.failure_rows(failure, self._run.run_id, self._run.redact, self.counts)
        for row in rows:
            self.counts.update(failure_counters(row))
        yield steps.FAILURES, rows


def _of_run(entry: tuple[str, metrics.MetricsState]) -> tuple[str, tuple[str, steps.AnySums]]:
    return steps.OF_RUN, (entry[0], steps.MetricsFn().add_input(b"", entry[1]))


_VERSIONS_TOGETHER = 64
METRIC_ROWS: Mapping[str, Callable[..., Sequence[Any]]]
_ROWS = metrics.version_rows, metrics.turn_rows, metrics.slice_rows
METRIC_ROWS = dict(zip(SINGLE_FILES, _ROWS, strict=True))
"""Metrics table -> what makes its rows of the sums of an app version, for a run and perhaps a window."""


class _MetricRowsFn(steps.InspectedDoFn):
    """Yields the metrics tables and the aggregated metrics of a run from the sums of all app versions."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def process(self, element: tuple[str, Iterable[tuple[str, steps.AnySums]]]) -> Iterator[Any]:
        # There may be as many versions as conversations: sums and rows of some are held at a time.
        versions = grouped(element[1])
        names, aggregated = list(versions), dict[str, VersionSums]()
        for start in range(0, len(names), _VERSIONS_TOGETHER):
            entries: list[tuple[str, metrics.MetricsState]] = []
            for name in names[start : start + _VERSIONS_TOGETHER]:
                entries.append((name, steps.MetricsFn().merge_accumulators(versions.pop(name))))
                _add_version(aggregated, *entries[-1])
            for table, rows_of in METRIC_ROWS.items():
                yield table, [row for entry in entries for row in rows_of(entry, self._run_id)]
        names = sorted(aggregated)
        for start in range(0, len(names), _VERSIONS_TOGETHER):
            together = {name: aggregated.pop(name) for name in names[start : start + _VERSIONS_TOGETHER]}
            yield AGGREGATED, [aggregated_metrics(together)]


def _add_version(aggregated: dict[str, VersionSums], version: str, state: metrics.MetricsState) -> None:
    name = version.rsplit("/", 1)[-1]
    passes, fails, sums = aggregated.get(name) or VersionSums(0, 0, {})
    metrics.add_sums(sums, state.ces)
    aggregated[name] = VersionSums(passes + state.passes, fails + state.fails, sums)


def aggregate_versions(states: Iterable[tuple[str, metrics.MetricsState]]) -> JsonObject:
    """Returns CES's AggregatedMetrics over all app versions, keyed by their last segment."""
    aggregated: dict[str, VersionSums] = {}
    for version, state in states:
        _add_version(aggregated, version, state)
    return aggregated_metrics(aggregated)
