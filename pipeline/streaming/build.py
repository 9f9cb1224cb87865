"""Wires a stream: parsing, matching, scoring, windowed metrics, alerts, sinks."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.run_writer import SINGLE_FILES
from turnwise.pipeline.io.sinks.base import StreamChange
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.streaming.alerts import SendAlerts
from turnwise.pipeline.streaming.local.conversations import key_of
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import plain_rows
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.alerts import RaiseAlerts
from turnwise.transforms.beam.sessions import AssembleConversations, NameStreamGroups, RecordContent
from turnwise.transforms.beam.windows import (
    CASE_FAILURES,
    CaseLookup,
    Contribution,
    CountOnce,
    MatchArrivals,
    ParseArrivals,
    RecordOutcome,
    ReportOnce,
    ScoreArrivals,
    WindowedMetrics,
    WindowMetrics,
    failed_outcome,
    no_cases,
)
from turnwise.transforms.formats.events import may_hold_events, may_hold_groups
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.metrics.rows import slice_rows, turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.text.dates import rfc3339


class WindowSum(NamedTuple):
    """Sums of an app version ("": unknown) in one window; `start` in seconds since the epoch."""

    start: float
    app_version: str
    state: MetricsState


class StreamSinks(Protocol):
    """Writes the outcomes and metrics of a stream as they are produced, alerts by default to a file."""

    alerts_path: Path | None

    def write_outcomes(self, outcomes: "PCollection[RecordOutcome]") -> None:
        """Adds the steps that write outcomes."""

    def write_metrics(self, metrics: "PCollection[WindowMetrics]") -> None:
        """Adds the steps that write the metrics of windows."""


def build_stream(
    arrivals: "PCollection[Arrival]",
    unread: "Sequence[PCollection[Failure]]",
    cases: CaseLookup | None,
    settings: RunSettings,
    sinks: StreamSinks,
) -> None:
    """Adds a whole stream to a pipeline.

    The arrivals are timestamped by event time; `unread` are failures of reading. Without `cases`,
    conversations have none, or bring their own.
    """
    rules = settings.stream.rules
    contents = _contents(arrivals, settings)
    contents = (contents, *unread) | "Found" >> beam.Flatten() if unread else contents
    matched = contents | "MatchCases" >> MatchArrivals(cases or no_cases)
    failures = [matched[CASE_FAILURES] | "CaseFailures" >> ReportOnce()]
    scoring = ScoreArrivals(settings.selection, settings.run, settings.judge)
    outcomes = matched["matched"] | "ScoreArrivals" >> scoring
    metrics = outcomes | "CountOnce" >> CountOnce(rules) | "WindowedMetrics" >> WindowedMetrics(rules)
    sinks.write_metrics(metrics)
    failures += _unsent(metrics, settings, sinks.alerts_path)
    failed = failures | "Failures" >> beam.Flatten() | "Rejected" >> beam.Map(failed_outcome, settings.run)
    outcomes = (outcomes, failed) | "Outcomes" >> beam.Flatten()
    sinks.write_outcomes(outcomes)


def _contents(arrivals: "PCollection[Arrival]", settings: RunSettings) -> "PCollection[RecordContent]":
    """Adds the steps that parse, and join events; all that they find goes one way, as one outcome each.

    An engine runs every step that follows a Flatten once for each of its inputs.
    """
    rules, reader = settings.stream.rules, LogReader(settings.input_format, settings.config)
    parsed = arrivals | "ParseArrivals" >> ParseArrivals(reader)
    if not may_hold_events(settings.input_format):
        whole: PCollection[RecordContent] = parsed.whole
        return whole
    events, rest = parsed.events, []
    if may_hold_groups(settings.input_format):
        named = parsed.grouped | "NameGroups" >> NameStreamGroups(rules, reader)
        events = (events, named.events) | "Events" >> beam.Flatten()
        rest.append(named.rest)
    assembled = events | "AssembleConversations" >> AssembleConversations(rules, reader)
    joined: PCollection[RecordContent] = (parsed.whole, assembled, *rest) | "Conversations" >> beam.Flatten()
    return joined


def _unsent(
    metrics: "PCollection[WindowMetrics]", settings: RunSettings, path: Path | None
) -> "list[PCollection[Failure]]":
    """Adds the steps that raise and send alerts, if there are rules; returns failures of sending."""
    rules = settings.config.alerts
    if not rules:
        return []
    alerts = metrics | "RaiseAlerts" >> RaiseAlerts(settings.stream.rules, rules)
    return [alerts | "SendAlerts" >> SendAlerts(settings.stream.alerts, path)]


_FLAT = ("scores", "conversations", "failures")


def conversation_change(
    contribution: Contribution, run_id: str, revision: int, rows: Mapping[str, Sequence[Any]]
) -> StreamChange:
    """Returns the change of a conversation with its rows of all tables, of which the flat ones are taken."""
    flat = {table: plain_rows(rows[table]) for table in _FLAT}
    return StreamChange(run_id, _thing(key_of(contribution.name)), revision, contribution.event_time, flat)


def gone_change(key: int, run_id: str, revision: int) -> StreamChange:
    """Returns the change of a conversation that another one replaces, by the key of its name."""
    return StreamChange(run_id, _thing(key), revision, None, {})


def outcome_change(outcome: RecordOutcome, run_id: str) -> StreamChange | None:
    """Returns the change of an outcome; None: it has no rows.

    Within one revision of a conversation, a result replaces a failure.
    """
    contribution = outcome.contribution
    if contribution is not None:
        rows = {table: getattr(outcome, table) for table in _FLAT}
        revision = 2 * contribution.revision + bool(outcome.results)
        return conversation_change(contribution, run_id, revision, rows)
    if not outcome.failures:
        return None
    digest = blake2b(dump_json(outcome.failures), digest_size=16).hexdigest()
    return StreamChange(run_id, f"record {digest}", 0, None, {"failures": outcome.failures})


def _thing(key: int) -> str:
    return f"conversation {key}"


def window_change(metrics: WindowMetrics, run_id: str) -> StreamChange:
    """Returns the change of a window and app version."""
    entry, window = (metrics.app_version, metrics.state), metrics.row_window
    rows_of: tuple[Any, ...] = (version_rows, turn_rows, slice_rows)
    rows = {table: of(entry, run_id, window) for table, of in zip(SINGLE_FILES, rows_of, strict=True)}
    thing = _window(rfc3339(metrics.window_start), metrics.app_version)
    return StreamChange(run_id, thing, metrics.revision, metrics.window_start, rows)


def gone_window(start: str, app_version: str | None, run_id: str, revision: int) -> StreamChange:
    """Returns the change of a window, by its start in RFC 3339, that holds nothing of the version."""
    return StreamChange(run_id, _window(start, app_version), revision, None, {})


def _window(start: str | None, app_version: str | None) -> str:
    return f"window {start} {key_of(app_version or '')}"
