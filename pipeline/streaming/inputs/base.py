"""Defines the interface of a source of a stream in this process."""

import os
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from turnwise.schemas.config import ConfigError
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.schemas.score import KEPT_RECORD_BYTES, oversized_error


class SourceOptions(NamedTuple):
    """Options of all sources.

    Attributes:
        max_record_bytes: A larger record is returned as an error, or refused.
        timestamp_attribute: Attribute of Pub/Sub messages with the event time; None: read it from the record.
        directory: Directory of the stream, for a source that stores what it received.
    """

    max_record_bytes: int
    timestamp_attribute: str | None = None
    directory: Path = Path()
    input_format: str = "auto"


class SourceRecord(NamedTuple):
    """A record that was read from a source, or the error of one that could not be read.

    Attributes:
        source: File, topic partition or subscription.
        position: Number of the record, unique within its source.
        data: UTF-8 JSON text; of an unreadable record, as much as is known.
        event_time: From a message attribute, in epoch seconds; None: read it from the record.
        published: When the broker accepted it, in epoch seconds: the time of a record that states none.
    """

    source: str
    position: int
    data: bytes
    event_time: float | None = None
    error: Exception | None = None
    published: float | None = None


class SettledPositions(NamedTuple):
    """The settled records of a source: all up to `through`, and those in `beyond`."""

    through: int = 0
    beyond: frozenset[int] = frozenset()

    def __contains__(self, position: object) -> bool:
        return isinstance(position, int) and (position <= self.through or position in self.beyond)


class Checkpoints(Protocol):
    """Progress of sources that can be read again, such as files, written together with the outcomes."""

    def done(self, source: str) -> SettledPositions: ...
    def skip(self, source: str, positions: Iterable[int]) -> None: ...
    def note(self, source: str) -> str | None: ...
    def set_note(self, source: str, note: str) -> None: ...


class StreamSource(Protocol):
    """Returns records as they arrive. After a restart, records that were not settled are returned again.

    `poll` and `settle` are called in different threads.
    """

    @property
    def is_finished(self) -> bool:
        """Whether no more records can arrive (standard input is closed)."""
        return False

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns the records that have arrived, at most `limit`; raises OSError if no more can be read."""

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns records that may be incomplete; called once, when the stream ends."""
        return ()

    def unread(self) -> Sequence[str]:
        """Returns the incomplete ends of the input, one line each. A later process can read them."""
        return ()

    def refused(self) -> Sequence[str]:
        """Returns what was received and could not be used, one line each; its sender was told."""
        return ()

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Acknowledges (source, position) pairs whose outcomes are on disk, where no checkpoint does."""
        return None

    def backlog(self) -> int | None:
        """Returns how many records (files: bytes) are waiting; None if unknown."""

    def close(self) -> None:
        """Closes connections and files."""


_LARGEST_POSITION = (1 << 63) - 1


def message_position(message_id: str) -> int:
    """Returns a numeric message id as a number; of any other id, 63 bits of its digest."""
    if message_id.isascii() and message_id.isdigit() and int(message_id) <= _LARGEST_POSITION:
        return int(message_id)
    digest = blake2b(message_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") & _LARGEST_POSITION


def attribute_time(text: str | None) -> float | None:
    """Returns milliseconds or an RFC 3339 text as seconds since the epoch; None if it is neither."""
    if not text:
        return None
    try:
        return int(text) / 1000 if text.isascii() and text.isdigit() else timestamp_nanos(text) / 1e9
    except ValueError:
        return None


def message_item(
    source: str, position: int, data: bytes, limit: int, event_time: float | None, published: float | None
) -> SourceRecord:
    """Returns the record of a message; of one of more than `limit` bytes the start, with an error."""
    error = oversized_error(limit) if len(data) > limit else None
    kept = data[:KEPT_RECORD_BYTES] if error else data
    return SourceRecord(source, position, kept, event_time, error, published)


KAFKA = "kafka:"
PASSWORD = "KAFKA_SASL_PASSWORD"
_RESERVED = ("bootstrap.servers", "group.id", "enable.auto.commit", "enable.auto.offset.store")


class KafkaTopic(NamedTuple):
    """A topic, its brokers (comma-separated `host:port`), and properties of the client library."""

    brokers: str
    topic: str
    group: str
    properties: dict[str, str]


def parse_kafka_uri(uri: str) -> KafkaTopic:
    """Parses `kafka://HOST:PORT,HOST:PORT/TOPIC?group=NAME&property=value`; raises ConfigError."""
    parts = urlsplit(uri)
    topic = parts.path.strip("/")
    properties = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not parts.netloc or not topic or "/" in topic:
        raise ConfigError("--input: a Kafka topic is named kafka://HOST:PORT[,HOST:PORT]/TOPIC[?group=NAME]")
    if "@" in parts.netloc or any("password" in key or "secret" in key for key in properties):
        raise ConfigError(f"--input: a Kafka password does not belong in the URI; set {PASSWORD}")
    for key in _RESERVED:
        if key in properties:
            raise ConfigError(f"--input: {key} cannot be set in a Kafka URI (the group: ?group=NAME)")
    return KafkaTopic(parts.netloc, topic, properties.pop("group", "") or "turnwise", properties)


def sasl_password() -> dict[str, str]:
    """Returns the password property from the environment; empty if it is not set."""
    password = os.environ.get(PASSWORD)
    return {"sasl.password": password} if password else {}


PUBSUB = "pubsub:"
_PUBSUB_NAME = re.compile(r"projects/([^/\s]+)/(subscriptions|topics)/([^/\s]+)")


def pubsub_name(uri: str) -> tuple[str, bool]:
    """Returns the resource name in a URI and whether it is a topic; raises ConfigError if it is neither."""
    match = _PUBSUB_NAME.fullmatch(uri.removeprefix(PUBSUB))
    if not match:
        forms = "pubsub:projects/P/subscriptions/S or pubsub:projects/P/topics/T"
        raise ConfigError(f"--input {uri}: use {forms}")
    return match.group(), match.group(2) == "topics"
