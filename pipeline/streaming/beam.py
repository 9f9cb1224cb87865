"""A stream on other runners: Beam's connectors, its steps, and the files and services that take its rows."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import apache_beam as beam
from apache_beam.io.fileio import MatchContinuously
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.gcp.pubsub import ReadFromPubSub
from apache_beam.io.kafka import ReadFromKafka
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from turnwise.pipeline.batch.execution import made_pipeline, only_translates, run_to_the_end, translate
from turnwise.pipeline.io.case_book import case_places, worker_cases
from turnwise.pipeline.io.records import SUFFIXES, file_records
from turnwise.pipeline.io.run_writer import publish, write_partial
from turnwise.pipeline.io.sinks import ChangeWriter, StreamChange, open_changes, prepare_service
from turnwise.pipeline.settings.options import SinkPlace, check_extra
from turnwise.pipeline.settings.remote_workers import are_elsewhere, check_access, try_staging
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.pipeline.streaming.alerts import SendAlerts, open_alert_sink, outcome_change, window_change
from turnwise.pipeline.streaming.inputs import base
from turnwise.pipeline.streaming.inputs.open import input_kind
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import score_lines
from turnwise.schemas.score import Failure, oversized_error, record_failure
from turnwise.transforms.beam import windows
from turnwise.transforms.beam.sessions import AssembleConversations, NameStreamGroups, RecordContent
from turnwise.transforms.beam.steps import FAILURES, CountingDoFn
from turnwise.transforms.formats.events import may_hold_events, may_hold_groups
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.formats.registry import record_time

_SCAN_SECONDS = 10.0


def read_arrivals(
    root: beam.Pipeline, inputs: Sequence[str], options: base.SourceOptions
) -> "tuple[PCollection[Arrival], PCollection[Failure]]":
    """Reads a stream with Beam's connectors, at event times, and what cannot be read; raises ConfigError.

    An input is `pubsub:…`, `kafka://…` (which needs Java here), or a path on any filesystem of the runner: a
    glob, a file, or a directory that ends in `/`. A file must be complete when it appears: it is read once.
    """
    arrivals: list[PCollection[Arrival]] = []
    failures: list[PCollection[Failure]] = []
    for number, name in enumerate(inputs, 1):
        kind = input_kind(name)
        if kind and kind.is_local:
            raise ConfigError(f"--input {name}: only the local runner reads {kind.form}")
        source: beam.PTransform[Any, Any]
        find: Callable[[Any], _Found] = records_of_row
        if name.startswith(base.PUBSUB):
            check_extra(f"--input {name}", "turnwise[gcp]")
            (resource, is_topic), attribute = base.pubsub_name(name), options.timestamp_attribute
            named: Any = {"topic" if is_topic else "subscription": resource}
            try:
                source = ReadFromPubSub(**named, with_attributes=True, timestamp_attribute=attribute)
            except ValueError as error:
                raise ConfigError(f"--input {name}: {error}") from None
            find = partial(records_of_message, source=resource, attribute=attribute)
        elif name.startswith(base.KAFKA):
            topic = base.parse_kafka_uri(name)
            stated = {"auto.offset.reset": "earliest", **topic.properties, "group.id": topic.group}
            source = ReadFromKafka(
                {**stated, "bootstrap.servers": topic.brokers, "enable.auto.commit": "false"},
                [topic.topic],
                commit_offset_in_finalize=True,
                timestamp_policy=ReadFromKafka.create_time_policy,
                with_metadata=True,
            )
        else:
            is_directory = name.endswith("/") or Path(name).is_dir()
            pattern = f"{name.rstrip('/')}/**" if is_directory else name
            # The default is the time at which the module was loaded.
            source = MatchContinuously(pattern, _SCAN_SECONDS, start_timestamp=Timestamp.now())
            find = partial(records_of_file, limit=options.max_record_bytes)
        try:
            read = root | f"Input{number}Read" >> source
        except RuntimeError as error:
            # The Kafka connector needs Java and a jar that Beam downloads.
            raise ConfigError(f"--input {name.split('?')[0]}: {' '.join(str(error).split())[:500]}") from None
        arrive = beam.ParDo(ArrivalsFn(find, options.max_record_bytes)).with_outputs(FAILURES, main="all")
        outputs = read | f"Input{number}Arrive" >> arrive
        arrivals.append(outputs["all"])
        failures.append(outputs[FAILURES])
    if len(inputs) == 1:
        return arrivals[0], failures[0]
    return arrivals | "AllArrivals" >> beam.Flatten(), failures | "AllReadFailures" >> beam.Flatten()


_Found: TypeAlias = "Iterator[tuple[Record | Failure, float | None, float]]"
"""Records, or failures; event time (None: it is read from the record), and when it was published."""


class ArrivalsFn(CountingDoFn):
    """Yields the records that a function finds in an element, at event times; the failure of a large one."""

    def __init__(self, find: Callable[[Any], _Found], limit: int) -> None:
        super().__init__()
        self._find, self._limit = find, limit

    def process(self, element: Any) -> Iterator[Any]:
        """Yields the arrivals and failures of an element."""
        for record, stated, published in self._find(element):
            if isinstance(record, Failure) or len(record.data) > self._limit:
                self.counts["rejected_records"] += 1
                error = oversized_error(self._limit)
                failure = record if isinstance(record, Failure) else record_failure("read", error, record)
                yield TaggedOutput(FAILURES, failure)
                continue
            event_time = record_time(record.data) if stated is None else stated
            time = published if event_time is None else event_time
            yield TimestampedValue(Arrival(record.source, record.position, record.data, time), time)


def records_of_file(file: FileMetadata, limit: int) -> _Found:
    """Yields the records of a file that has a supported suffix and is not hidden."""
    name = file.path.rsplit("/", 1)[-1]
    if name.endswith(SUFFIXES) and not name.startswith("."):
        for record in file_records(file.path, limit):
            yield record, None, file.last_updated_in_seconds


def records_of_message(message: Any, source: str, attribute: str | None) -> _Found:
    """Yields the record of a `PubsubMessage`."""
    event_time = base.attribute_time(message.attributes.get(attribute)) if attribute else None
    record = Record(source, base.message_position(message.message_id), message.data)
    yield record, event_time, message.publish_time.timestamp()


def records_of_row(row: Any) -> _Found:
    """Yields the record of a row of `ReadFromKafka(with_metadata=True)`; a tombstone (no value) has none."""
    if row.value is not None:
        yield Record(f"{row.topic}[{row.partition}]", row.offset, row.value), None, row.timestamp / 1000


def run_distributed(settings: RunSettings, options: PipelineOptions) -> int:
    """Starts a stream, which most runners continue until it is drained, and returns 0; raises ConfigError."""
    stream = settings.stream
    if stream.stop_after is not None or stream.max_run_time is not None:
        raise ConfigError(
            "--stop_after and --max_run_time end a stream in this process, with DirectRunner only"
        )
    if settings.max_failure_ratio is not None or settings.config.gate.rules:
        raise ConfigError(
            "--max_failure_ratio, --fail_on and the rules of the config's gate apply at the end of a run; a "
            "stream on this runner has no end"
        )
    if not only_translates(options):
        check_access(settings)
    if settings.config.alerts:
        open_alert_sink(stream.alerts, None)
    with made_pipeline(options) as pipeline:
        source_options = base.SourceOptions(settings.max_record_bytes, stream.timestamp_attribute)
        arrivals, unread = read_arrivals(pipeline, settings.input, source_options)
        on_prism = type(pipeline.runner).__name__ == "PrismRunner"
        sinks = SharedFiles(settings.output, settings.run.run_id, settings.places, in_bundles=on_prism)
        cases = None
        if places := case_places(settings):
            places.read()
            cases = partial(worker_cases, places)
        build_stream(arrivals, [unread], cases, settings, sinks)
        if only_translates(options):
            translate(pipeline)
            return 0
        if are_elsewhere(pipeline.runner, options):
            try_staging(options)
        try_judge(settings)
        is_updated = bool(options.view_as(GoogleCloudOptions).update)
        for sink_place in settings.places:
            prepare_service(sink_place._replace(is_new=not is_updated))
        run_to_the_end(pipeline)
        return 0


def build_stream(
    arrivals: "PCollection[Arrival]",
    unread: "Sequence[PCollection[Failure]]",
    cases: windows.CaseLookup | None,
    settings: RunSettings,
    sinks: "SharedFiles",
) -> None:
    """Adds a whole stream, of arrivals at their event times; `unread` are failures of reading."""
    rules, reader = settings.stream.rules, LogReader(settings.input_format, settings.config)
    parsed = arrivals | "ParseArrivals" >> windows.ParseArrivals(reader)
    contents: PCollection[RecordContent] = parsed.whole
    # All that is found goes one way, as one outcome each: an engine runs every step that follows a Flatten
    # once for each of its inputs.
    if may_hold_events(settings.input_format):
        events, rest = parsed.events, []
        if may_hold_groups(settings.input_format):
            named = parsed.grouped | "NameGroups" >> NameStreamGroups(rules, reader)
            events = (events, named.events) | "Events" >> beam.Flatten()
            rest.append(named.rest)
        assembled = events | "AssembleConversations" >> AssembleConversations(rules, reader)
        contents = (parsed.whole, assembled, *rest) | "Conversations" >> beam.Flatten()
    contents = (contents, *unread) | "Found" >> beam.Flatten() if unread else contents
    matched = contents | "MatchCases" >> windows.MatchArrivals(cases or windows.CurrentCases)
    failures = [matched[windows.CASE_FAILURES] | "CaseFailures" >> windows.ReportOnce()]
    scoring = windows.ScoreArrivals(settings.selection, settings.run, settings.judge)
    outcomes = matched["matched"] | "ScoreArrivals" >> scoring
    changes = outcomes | "CountOnce" >> windows.CountOnce(rules)
    metrics = changes | "WindowedMetrics" >> windows.WindowedMetrics(rules)
    sinks.write(metrics, "Metric", partial(_metric_lines, settings.run.run_id), window_change)
    if settings.config.alerts:
        alerts = metrics | "RaiseAlerts" >> windows.RaiseAlerts(rules, settings.config.alerts)
        failures.append(alerts | "SendAlerts" >> SendAlerts(settings.stream.alerts))
    rejected = failures | "Failures" >> beam.Flatten()
    failed = rejected | "Rejected" >> beam.Map(windows.failed_outcome, settings.run)
    outcomes = (outcomes, failed) | "Outcomes" >> beam.Flatten()
    sinks.write(outcomes, "Outcome", _outcome_lines, outcome_change)


_LOG = logging.getLogger(__name__)
_SHARDS = 4
_CHANGES_AT_ONCE = 500
_SECONDS_AT_MOST = 10


@beam.ptransform_fn
def WriteChanges(
    changes: "PCollection[StreamChange | None]", places: Sequence[SinkPlace]
) -> "PCollection[Any]":
    """Writes changes in batches. A batch that fails is repeated by the runner."""
    present = changes | beam.Filter(lambda change: change is not None)
    by_shard = beam.Map(lambda change: (str(_shard(change.thing)), change))
    keyed = present | by_shard.with_output_types(tuple[str, Any])
    batches = keyed | beam.GroupIntoBatches(_CHANGES_AT_ONCE, _SECONDS_AT_MOST)
    return batches | beam.ParDo(_WriteChangesFn(places))


def _shard(name: str) -> int:
    return crc32(name.encode("utf-8", "replace")) % _SHARDS


class _WriteChangesFn(beam.DoFn):
    def __init__(self, places: Sequence[SinkPlace]) -> None:
        self._places = places
        self._writer: ChangeWriter | None = None

    def process(self, batch: tuple[str, Iterable[StreamChange]]) -> None:
        if self._writer is None:
            self._writer = open_changes(self._places)
        for row in self._writer.write(list(batch[1])):
            _LOG.warning("%s", row.why)


_ROWS_AT_ONCE = 5_000
_Line = tuple[str, bytes]


class SharedFiles(NamedTuple):
    """Files in one directory, and services that take the rows as well, if there are any.

    A file is named by a digest of its content, so that a repeated step writes the same file. A row that
    changed is in several files; the highest revision counts. The revision is a column of the row or, for
    results and rejected conversations, part of the file name. Within one revision, a result replaces a
    failure.

    Attributes:
        in_bundles: Whether rows are written at the end of each bundle, into more and smaller files. Prism
            needs it: under load, rows that waited there for a timer were never written.
    """

    directory: str
    run_id: str
    places: Sequence[SinkPlace] = ()
    in_bundles: bool = False

    def write(
        self,
        things: "PCollection[Any]",
        label: str,
        lines_of: Callable[[Any], Iterable[_Line]],
        change_of: Callable[..., StreamChange | None],
    ) -> None:
        """Adds the steps that write the rows of things: as lines of tables, and as changes in services."""
        lines = things | f"{label}Lines" >> beam.FlatMap(lines_of).with_output_types(_Line)
        write: beam.DoFn = _WriteBundleFn(self.directory)
        if not self.in_bundles:
            lines |= f"Batch{label}s" >> beam.GroupIntoBatches(_ROWS_AT_ONCE, _SECONDS_AT_MOST)
            write = _WriteFn(self.directory)
        _ = lines | f"Write{label}s" >> beam.ParDo(write)
        if self.places:
            changes = things | f"{label}Changes" >> beam.Map(change_of, self.run_id)
            _ = changes | f"Store{label}s" >> WriteChanges(self.places)


def _outcome_lines(outcome: windows.RecordOutcome) -> Iterator[_Line]:
    """Yields the rows of an outcome as lines, keyed by table and shard."""
    shard = _shard(outcome.conversation_id or "")
    revision = f"-r{outcome.contribution.revision if outcome.contribution else 0:05}"
    for score in outcome.scores:
        yield f"scores/{shard}", score_lines([score])[:-1]
    for row in outcome.results:
        yield f"results{revision}/{shard}", dump_json(row["result"])
    for conversation in outcome.conversations:
        yield f"conversations/{shard}", dump_json(conversation)
    failures = "failures" if outcome.results or outcome.joined is None else f"failures{revision}"
    for failure in outcome.failures:
        yield f"{failures}/{shard}", dump_json(failure)


def _metric_lines(run_id: str, metrics: windows.WindowMetrics) -> list[_Line]:
    tables = window_change(metrics, run_id).rows
    return [(table, dump_json(row)) for table, rows in tables.items() for row in rows]


class _WriteFn(beam.DoFn):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def process(self, batch: tuple[str, Iterable[bytes]]) -> None:
        table = batch[0].partition("/")[0]
        content = b"\n".join(batch[1]) + b"\n"
        name = f"{table}-{blake2b(content, digest_size=16).hexdigest()}.jsonl"
        publish(self._directory, [(write_partial(self._directory, name, content), name)])


class _WriteBundleFn(_WriteFn):
    def start_bundle(self) -> None:
        self._lines: dict[str, list[bytes]] = {}

    def process(self, line: _Line) -> None:  # type: ignore[override]
        self._lines.setdefault(line[0].partition("/")[0], []).append(line[1])

    def finish_bundle(self) -> None:
        for table, lines in self._lines.items():
            super().process((table, lines))
