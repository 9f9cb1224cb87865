"""Reads a Kafka topic."""

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from turnwise.pipeline.streaming.inputs import base
from turnwise.schemas.config import ConfigError

_START_ATTEMPTS = 10
_MOST_AT_ONCE = 10_000
_POLL_INTERVAL_MS = 3_600_000
_DEFAULTS = {"auto.offset.reset": "earliest", "max.poll.interval.ms": _POLL_INTERVAL_MS, "log_level": 0}
_FIXED = {"enable.auto.commit": False, "enable.auto.offset.store": False}


class KafkaSource(base.StreamSource):
    """Reads the records of a topic as one consumer of a group.

    A source is `topic[partition]`, a position the offset; the offset before which all records are settled is
    committed. Records of a revoked partition are dropped, tombstones (no value) settled at once.
    """

    def __init__(self, uri: str, max_record_bytes: int) -> None:
        """Connects, with the password in KAFKA_SASL_PASSWORD, and joins the group; raises ConfigError."""
        self._uri, self._limit = base.parse_kafka_uri(uri), max_record_bytes
        self._lock = Lock()
        self._trackers: dict[int, OffsetTracker] = {}
        self._problem: KafkaError | None = None
        self._last_error = ""
        stated = {**self._uri.properties, **base.sasl_password()}
        stated |= {"bootstrap.servers": self._uri.brokers, "group.id": self._uri.group}
        consumer = None
        try:
            consumer = Consumer({**_DEFAULTS, **stated, **_FIXED, "error_cb": self._note_error})
            for further in reversed(range(_START_ATTEMPTS)):
                try:
                    topic = consumer.list_topics(self._uri.topic, timeout=1.0).topics[self._uri.topic]
                    break
                except KafkaException:
                    consumer.poll(0)
                    if self._last_error or not further:
                        raise
            if topic.error is not None:
                raise KafkaException(topic.error)
            consumer.subscribe([self._uri.topic], on_assign=self._assign, on_revoke=self._revoke)
        except KafkaException as error:
            if consumer is not None:
                consumer.close()
            reason = self._last_error or error.args[0].str()
            shown = f"--input kafka://{self._uri.brokers}/{self._uri.topic}"
            raise ConfigError(f"{shown}: {reason}; check the brokers, the topic and the properties") from None
        self._consumer = consumer

    def _note_error(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last_error = " ".join(error.str().split())
        if error.fatal():
            self._problem = error

    def _assign(self, _: Any, partitions: list[TopicPartition]) -> None:
        with self._lock:
            for partition in partitions:
                self._trackers[partition.partition] = OffsetTracker()

    def _revoke(self, _: Any, partitions: list[TopicPartition]) -> None:
        with self._lock:
            for partition in partitions:
                self._trackers.pop(partition.partition, None)

    def poll(self, limit: int) -> Sequence[base.SourceRecord]:
        """Returns what has arrived, at most `limit` items; raises OSError if nothing more can be read."""
        if limit <= 0:
            return []
        messages = self._consumer.consume(min(limit, _MOST_AT_ONCE), timeout=0)
        items: list[base.SourceRecord] = []
        with self._lock:
            for message in messages:
                error, partition, offset = message.error(), message.partition(), message.offset()
                if error is not None:
                    passing = (KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED)
                    if not error.retriable() and error.code() not in passing:
                        self._problem = self._problem or error
                    continue
                if partition is None or offset is None:
                    continue
                tracker = self._trackers.setdefault(partition, OffsetTracker())
                tracker.add(offset)
                value = message.value()
                if value is None:
                    tracker.settle(offset)
                    continue
                kind, milliseconds = message.timestamp()
                at, source = milliseconds / 1000 if kind else None, self._source(partition)
                items.append(base.message_item(source, offset, bytes(value), self._limit, None, at))
            if len(items) < len(messages):
                self._commit()
        if not items and self._problem:
            raise OSError(f"Kafka topic {self._uri.topic}: {self._problem.str()}")
        return items

    def _source(self, partition: int) -> str:
        return f"{self._uri.topic}[{partition}]"

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        with self._lock:
            sources = {self._source(partition): tracker for partition, tracker in self._trackers.items()}
            for source, position in places:
                if source in sources:
                    sources[source].settle(position)
            self._commit()

    def _commit(self) -> None:
        """Commits the offsets that have moved. The caller holds the lock."""
        topic, trackers = self._uri.topic, self._trackers.items()
        committed = ((number, tracker.commit()) for number, tracker in trackers)
        if moved := [TopicPartition(topic, number, offset) for number, offset in committed if offset]:
            # A later commit covers one that fails.
            with contextlib.suppress(KafkaException):
                self._consumer.commit(offsets=moved, asynchronous=True)

    def backlog(self) -> int | None:
        """Returns how many records of the assigned partitions are waiting, by the last known watermarks."""
        with self._lock:
            ahead = [(partition, tracker.next) for partition, tracker in self._trackers.items()]
        waiting = 0
        for partition, offset in ahead:
            position = TopicPartition(self._uri.topic, partition, offset)
            try:
                marks = self._consumer.get_watermark_offsets(position, cached=True)
            except (KafkaException, RuntimeError):
                return None
            waiting += max(marks[1] - max(offset, marks[0]), 0) if marks and marks[1] >= 0 else 0
        return waiting

    def close(self) -> None:
        """Commits synchronously and leaves the group."""
        with self._lock:
            topic, trackers = self._uri.topic, self._trackers.items()
            done = [TopicPartition(topic, number, t.committed) for number, t in trackers if t.committed]
        with contextlib.suppress(KafkaException):
            if done:
                self._consumer.commit(offsets=done, asynchronous=False)
        self._consumer.close()


class OffsetTracker:
    """Tracks the unsettled offsets of a partition. Offsets are added in order and may have gaps.

    `committed` is the last offset that `commit` returned (0: none), `next` the one after the last one added.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[int, None] = OrderedDict()
        self.committed = self.next = 0

    def add(self, offset: int) -> None:
        self._open[offset] = None
        self.next = offset + 1

    def settle(self, offset: int) -> None:
        """Marks a record as settled; ignores offsets that were not added."""
        self._open.pop(offset, None)

    def commit(self) -> int | None:
        """Returns the offset before which all records are settled; None if it has not moved."""
        offset = next(iter(self._open), self.next)
        if offset <= self.committed:
            return None
        self.committed = offset
        return offset
