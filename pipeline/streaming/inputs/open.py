"""Opens the sources that `--input` names."""

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.pipeline.streaming.inputs import kafka_uri, pubsub
from turnwise.pipeline.streaming.inputs.directory import DirectorySource
from turnwise.pipeline.streaming.inputs.kafka import KafkaSource
from turnwise.pipeline.streaming.inputs.lines import LinesSource
from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource
from turnwise.pipeline.streaming.inputs.source import Checkpoints, SourceRecord, StreamSource
from turnwise.schemas.config import ConfigError

STANDARD_INPUT = "-"


class SourceOptions(NamedTuple):
    """Options of all sources.

    Attributes:
        max_record_bytes: A larger record is returned as an error.
        timestamp_attribute: Attribute of a Pub/Sub message that holds its event time; None: read it from the
            record.
    """

    max_record_bytes: int
    timestamp_attribute: str | None = None


def open_source(inputs: Sequence[str], options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    """Opens all inputs as one source: `-`, each `pubsub:…` and `kafka://…`, and all paths together.

    Raises:
        ConfigError: An input cannot be read. Sources that were opened before it are closed.
    """
    if list(inputs).count(STANDARD_INPUT) > 1:
        raise ConfigError("--input: standard input (-) can be read once")
    paths = [name for name in inputs if not _is_stream(name)]
    sources: list[StreamSource] = []
    try:
        if paths:
            sources.append(DirectorySource(paths, checkpoints, options.max_record_bytes))
        for name in dict.fromkeys(inputs):
            if _is_stream(name):
                sources.append(_open_stream(name, options, checkpoints))
    except BaseException:
        for source in sources:
            source.close()
        raise
    return sources[0] if len(sources) == 1 else CompositeSource(sources)


def _is_stream(name: str) -> bool:
    return name == STANDARD_INPUT or name.startswith((pubsub.SCHEME, kafka_uri.SCHEME))


def _open_stream(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    if name == STANDARD_INPUT:
        return LinesSource(sys.stdin.buffer, "stdin", checkpoints, options.max_record_bytes)
    if name.startswith(kafka_uri.SCHEME):
        return KafkaSource(name, options.max_record_bytes)
    return PubSubSource(name, options.max_record_bytes, options.timestamp_attribute)


class CompositeSource(StreamSource):
    """Several sources as one, polled in turn."""

    def __init__(self, sources: Sequence[StreamSource]) -> None:
        self._sources = sources
        self._first = 0

    @property
    def is_finished(self) -> bool:
        """Whether all sources are finished."""
        return all(source.is_finished for source in self._sources)

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns the records that have arrived: an equal share of each source, then the rest."""
        order = [*self._sources[self._first :], *self._sources[: self._first]]
        self._first = (self._first + 1) % len(self._sources)
        share = max(limit // len(order), 1)
        items: list[SourceRecord] = []
        for most in (share, limit):
            for source in order:
                room = min(most, limit - len(items))
                items += source.poll(room) if room > 0 else ()
        return items

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns the remaining records of all sources."""
        return [item for source in self._sources for item in source.last_items()]

    def unread(self) -> Sequence[str]:
        """Returns the unread ends of all sources."""
        return [line for source in self._sources for line in source.unread()]

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Settles the records at every source; each ignores records of the others."""
        settled = list(places)
        for source in self._sources:
            source.settle(settled)

    def backlog(self) -> int | None:
        """Returns the sum of the known backlogs; None if none is known."""
        known = [waiting for source in self._sources if (waiting := source.backlog()) is not None]
        return sum(known) if known else None

    def close(self) -> None:
        """Closes all sources."""
        for source in self._sources:
            source.close()
