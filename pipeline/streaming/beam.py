"""Reads a stream with Beam's connectors: files, Pub/Sub and Kafka."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.io.fileio import MatchContinuously
from apache_beam.io.filesystem import FileMetadata
from apache_beam.pvalue import PCollection
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from turnwise.pipeline.io.files import read_records, unread_rest
from turnwise.pipeline.io.records import SUFFIXES, oversized_error
from turnwise.pipeline.settings.extras import check_extra
from turnwise.pipeline.streaming.inputs import kafka_uri, pubsub
from turnwise.pipeline.streaming.inputs.kafka_uri import parse_kafka_uri
from turnwise.pipeline.streaming.inputs.kinds import input_kind
from turnwise.pipeline.streaming.inputs.messages import attribute_time, message_position
from turnwise.pipeline.streaming.inputs.pubsub import pubsub_name
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.beam.steps import FAILURES, CountingDoFn

TimeOf = Callable[[bytes], float | None]

_LOST = "lost_records"


class ConnectorOptions(NamedTuple):
    """Options of the connectors.

    Attributes:
        time_of: Returns a record's event time, seconds since the epoch; None: it has none.
        max_record_bytes: A larger record is a failure.
        timestamp_attribute: Attribute of a Pub/Sub message that holds its event time; None: read it from the
            record.
        scan_seconds: Seconds between two scans for files.
    """

    time_of: TimeOf
    max_record_bytes: int
    timestamp_attribute: str | None = None
    scan_seconds: float = 10.0


class Arrivals(NamedTuple):
    """The records of a stream, each at its event time, and the failures of reading."""

    arrivals: "PCollection[Arrival]"
    failures: "PCollection[Failure]"


def read_arrivals(root: beam.Pipeline, inputs: Sequence[str], options: ConnectorOptions) -> Arrivals:
    """Reads a stream with Beam's connectors.

    A file is read once, when it is first seen, so it must be complete when it appears. Kafka needs Java on
    the machine that starts the pipeline.

    Args:
        root: The pipeline.
        inputs: `pubsub:…`, `kafka://…`, or paths on any filesystem that the runner supports: a glob, a file,
            or a directory that ends in `/`.
        options: Options of the connectors.

    Raises:
        ConfigError: An input cannot be read on this runner.
    """
    read = [_read(root, name, f"Input{number}", options) for number, name in enumerate(inputs, 1)]
    if len(read) == 1:
        return read[0]
    arrivals = [one.arrivals for one in read] | "AllArrivals" >> beam.Flatten()
    failures = [one.failures for one in read] | "AllReadFailures" >> beam.Flatten()
    return Arrivals(arrivals, failures)


def _read(root: beam.Pipeline, name: str, label: str, options: ConnectorOptions) -> Arrivals:
    source, arrive = _source(name, options)
    try:
        found = root | f"{label}Read" >> source
    except RuntimeError as error:
        # The Kafka connector needs Java and a jar that Beam downloads.
        raise ConfigError(f"--input {name.split('?')[0]}: {' '.join(str(error).split())[:500]}") from None
    outputs = found | f"{label}Arrive" >> beam.ParDo(arrive).with_outputs(FAILURES, main="all")
    return Arrivals(outputs["all"], outputs[FAILURES])


def _source(name: str, options: ConnectorOptions) -> "tuple[beam.PTransform[Any, Any], beam.DoFn]":
    kind = input_kind(name)
    if kind and kind.is_local:
        raise ConfigError(f"--input {name}: only the local runner reads {kind.form}")
    if name.startswith(pubsub.SCHEME):
        return _pubsub(name, options), MessageArrivalsFn(pubsub_name(name)[0], options)
    if name.startswith(kafka_uri.SCHEME):
        return _kafka(name), KafkaArrivalsFn(options)
    is_directory = name.endswith("/") or Path(name).is_dir()
    pattern = f"{name.rstrip('/')}/**" if is_directory else name
    # The default is the time at which the module was loaded.
    now = Timestamp.now()
    return MatchContinuously(pattern, options.scan_seconds, start_timestamp=now), FileArrivalsFn(options)


def _pubsub(uri: str, options: ConnectorOptions) -> "beam.PTransform[Any, Any]":
    check_extra(f"--input {uri}", "turnwise[gcp]")
    from apache_beam.io.gcp.pubsub import ReadFromPubSub

    name, is_topic = pubsub_name(uri)
    try:
        return ReadFromPubSub(
            topic=name if is_topic else None,
            subscription=None if is_topic else name,
            with_attributes=True,
            timestamp_attribute=options.timestamp_attribute,
        )
    except ValueError as error:
        raise ConfigError(f"--input {uri}: {error}") from None


def _kafka(uri: str) -> "beam.PTransform[Any, Any]":
    from apache_beam.io.kafka import ReadFromKafka

    found = parse_kafka_uri(uri)
    consumer = {"auto.offset.reset": "earliest", **found.properties}
    return ReadFromKafka(
        {
            **consumer,
            "bootstrap.servers": found.brokers,
            "group.id": found.group,
            "enable.auto.commit": "false",
        },
        [found.topic],
        commit_offset_in_finalize=True,
        timestamp_policy=ReadFromKafka.create_time_policy,
        with_metadata=True,
    )


class _ArriveFn(CountingDoFn):
    def __init__(self, options: ConnectorOptions) -> None:
        super().__init__()
        self._limit, self._time_of = options.max_record_bytes, options.time_of

    def arrive(self, record: Record, event_time: float | None, published: float) -> Any:
        """Returns a record at its event time, or the failure of an oversized one."""
        if len(record.data) > self._limit:
            return self.lose(record_failure("read", oversized_error(self._limit), record))
        if event_time is None:
            event_time = self._time_of(record.data)
        time = published if event_time is None else event_time
        return TimestampedValue(Arrival(record.source, record.position, record.data, time), time)

    def lose(self, failure: Failure) -> Any:
        """Counts a lost record and returns its failure for the tagged output."""
        self.count(_LOST)
        return beam.pvalue.TaggedOutput(FAILURES, failure)


class FileArrivalsFn(_ArriveFn):
    """Yields the records of a file."""

    def process(self, file: FileMetadata) -> Iterator[Any]:
        """Reads a file that has a supported suffix and is not hidden."""
        if not _is_read(file.path):
            return
        try:
            for record in read_records(file.path, self._limit):
                if isinstance(record, Failure):
                    yield self.lose(record)
                else:
                    yield self.arrive(record, None, file.last_updated_in_seconds)
        except Exception as error:
            yield self.lose(unread_rest("read", error, file.path))


def _is_read(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.endswith(SUFFIXES) and not name.startswith(".")


class MessageArrivalsFn(_ArriveFn):
    """Turns a Pub/Sub message into a record."""

    def __init__(self, source: str, options: ConnectorOptions) -> None:
        super().__init__(options)
        self._source, self._attribute = source, options.timestamp_attribute

    def process(self, message: Any) -> Iterator[Any]:
        """Yields the record of a `PubsubMessage`."""
        event_time = attribute_time(message.attributes.get(self._attribute)) if self._attribute else None
        record = Record(self._source, message_position(message.message_id), message.data)
        yield self.arrive(record, event_time, message.publish_time.timestamp())


class KafkaArrivalsFn(_ArriveFn):
    """Turns a Kafka record into a record; skips tombstones (no value)."""

    def process(self, row: Any) -> Iterator[Any]:
        """Yields the record of a row of `ReadFromKafka(with_metadata=True)`."""
        if row.value is not None:
            record = Record(f"{row.topic}[{row.partition}]", row.offset, row.value)
            yield self.arrive(record, None, row.timestamp / 1000)
