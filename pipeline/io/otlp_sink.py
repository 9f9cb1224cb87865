"""Scores as OpenTelemetry events `gen_ai.evaluation.result`, sent by OTLP over HTTP."""

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from threading import Event
from time import time_ns
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from requests import Response, Session

from turnwise.pipeline.io.sinks import RefusedRow, StepSink, StreamChange, TableSink
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, shown_url
from turnwise.schemas.rows import plain_rows

_COLUMNS = (
    *("run_id", "score_id", "revision", "turn_index", "threshold"),
    *("eval_id", "app_version", "label", "event_time", "language"),
)
_MOST_EVENTS = 500
_NO_ANSWER = "no connection, or no answer in time"
_SPAN = re.compile(r"([0-9a-f]{32})(?:/([0-9a-f]{16}))?")


class _Exporter:
    """The SDK's exporter, with what the receiver answered: the exporter itself says only that it failed."""

    def __init__(self, url: str) -> None:
        self._answer, self._rejected = _NO_ANSWER, 0
        session = Session()
        session.hooks["response"].append(self._read)
        self._exporter = OTLPLogExporter(f"http{url.rstrip('/')[4:]}/v1/logs", session=session)
        self._resource = Resource.create({"service.name": "turnwise", "service.version": version("turnwise")})
        self._scope = InstrumentationScope("turnwise", version("turnwise"))

    def _read(self, response: Response, *_: Any, **__: Any) -> None:
        self._answer = f"HTTP {response.status_code} {response.reason}"
        if response.ok and response.content:
            part = ExportLogsServiceResponse.FromString(response.content).partial_success
            self._rejected, self._answer = part.rejected_log_records, part.error_message or self._answer

    def problem(self) -> str:
        """Returns why not even no events can be delivered; "": they can."""
        return "" if self._exporter.export([]) is LogRecordExportResult.SUCCESS else self._answer

    def send(self, rows: Sequence[JsonObject]) -> str:
        """Sends score rows as events; returns in one line what was not delivered; "": all was."""
        lost, why = 0, ""
        for start in range(0, len(rows), _MOST_EVENTS):
            part = rows[start : start + _MOST_EVENTS]
            self._answer, self._rejected = _NO_ANSWER, 0
            events = [ReadableLogRecord(_event(row), self._resource, self._scope) for row in part]
            if self._exporter.export(events) is not LogRecordExportResult.SUCCESS:
                self._rejected = len(part)
            if self._rejected:
                lost, why = lost + self._rejected, " ".join(self._answer.split())[:200]
        return f"{lost} of {len(rows)} scores were not delivered: {why}" if lost else ""


def _event(row: JsonObject) -> LogRecord:
    """Returns the event of a score; one without a value has an `error.type`, and no label."""
    has_value, outcome = row["value"] is not None, row["outcome"]
    # TRACE/SPAN or TRACE; ids that are not OpenTelemetry's are none.
    ids = _SPAN.fullmatch(row["span"] or "")
    trace_id, span_id = (int(ids[1], 16), int(ids[2] or "0", 16)) if ids else (0, 0)
    flags = TraceFlags(TraceFlags.SAMPLED if trace_id else TraceFlags.DEFAULT)
    span = NonRecordingSpan(SpanContext(trace_id, span_id, True, flags))
    attributes = {
        "gen_ai.evaluation.name": row["criterion"],
        "gen_ai.evaluation.score.value": float(row["value"]) if has_value else None,
        "gen_ai.evaluation.score.label": outcome.lower() if outcome else None,
        "gen_ai.evaluation.explanation": row["explanation"] or row["reason"],
        "error.type": None if has_value or outcome else "no_score",
        "gen_ai.conversation.id": row["conversation_id"],
        **{f"turnwise.{name}": row[name] for name in _COLUMNS},
    }
    return LogRecord(
        timestamp=time_ns(),
        observed_timestamp=time_ns(),
        context=set_span_in_context(span),
        severity_number=SeverityNumber.INFO,
        attributes={name: value for name, value in attributes.items() if value is not None},
        event_name="gen_ai.evaluation.result",
    )


class _SendEventsFn(beam.DoFn):
    """Sends the scores of a bundle; yields what was not delivered, one line an export."""

    def __init__(self, url: str) -> None:
        self._url = url

    def setup(self) -> None:
        self._exporter = _Exporter(self._url)

    def start_bundle(self) -> None:
        self._waiting: list[JsonObject] = []

    def process(self, rows: Sequence[Any]) -> Iterator[str]:
        self._waiting += plain_rows(rows)
        if len(self._waiting) >= _MOST_EVENTS:
            yield from self._send()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield from map(GlobalWindows.windowed_value, self._send())

    def _send(self) -> Iterator[str]:
        rows, self._waiting = self._waiting, []
        if lost := self._exporter.send(rows):
            yield lost


def open_receiver(sink_place: SinkPlace) -> TableSink:
    """Returns the sink of a run, for scores alone: other tables have no event."""
    return StepSink("Otlp", ("scores",), lambda table: _SendEventsFn(sink_place.url))


class OtlpChanges:
    """Sends the scores of a stream's changes; a later change of a conversation has a higher revision."""

    def __init__(self, sink_place: SinkPlace) -> None:
        self.stop = Event()
        self._sink_place, self._exporter = sink_place, _Exporter(sink_place.url)

    def write(self, changes: Sequence[StreamChange]) -> Sequence[RefusedRow]:
        """Sends changes; raises OSError if not all scores were delivered."""
        rows = [row for change in changes for row in plain_rows(change.rows.get("scores", ()))]
        if lost := self._exporter.send(rows):
            raise OSError(f"--scores_to {shown_url(self._sink_place.url)}: {lost}")
        return []


def try_receiver(sink_place: SinkPlace) -> None:
    """Sends no events, before a run; raises ConfigError if the receiver does not take that."""
    if why := _Exporter(sink_place.url).problem():
        raise ConfigError(f"--scores_to {shown_url(sink_place.url)}: it takes no OpenTelemetry logs: {why}")


def lost_scores(sink_place: SinkPlace, lost: Sequence[str]) -> list[str]:
    """Returns what a run could not deliver, one line each."""
    return [f"--scores_to {shown_url(sink_place.url)}: {line}" for line in lost]
