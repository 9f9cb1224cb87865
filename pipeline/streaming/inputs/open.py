"""Opens the sources that `--input` names."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from turnwise.pipeline.io.sinks import deferred
from turnwise.pipeline.settings.options import check_extra
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceOptions, SourceRecord, StreamSource
from turnwise.pipeline.streaming.inputs.files import DirectorySource, LinesSource
from turnwise.schemas.config import ConfigError


def open_source(inputs: Sequence[str], options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    """Opens all inputs as one source: each that is of a kind of `INPUT_KINDS`, and all paths together.

    If one cannot be read, closes those that were opened before it and raises ConfigError.
    """
    for kind in INPUT_KINDS:
        if kind.is_local and sum(input_kind(name) is kind for name in inputs) > 1:
            raise ConfigError(f"--input {kind.form}: can be named once")
    paths = [name for name in inputs if input_kind(name) is None]
    sources: list[StreamSource] = []
    try:
        if paths:
            sources.append(DirectorySource(paths, checkpoints, options.max_record_bytes))
        for name in dict.fromkeys(inputs):
            if kind_of_name := input_kind(name):
                sources.append(kind_of_name.open(name, options, checkpoints))
    except BaseException:
        for source in sources:
            source.close()
        raise
    return sources[0] if len(sources) == 1 else CompositeSource(sources)


def left_before(inputs: Sequence[str], options: SourceOptions, checkpoints: Checkpoints) -> list[str]:
    """Returns what earlier processes could not use of inputs not named now; ConfigError: something waits."""
    left = [kind.left for kind in INPUT_KINDS if kind not in set(map(input_kind, inputs))]
    return [line for lines in left if lines for line in lines(options, checkpoints)]


class CompositeSource(StreamSource):
    """Several sources as one, polled in turn."""

    def __init__(self, sources: Sequence[StreamSource]) -> None:
        self._sources = sources
        self._first = 0

    @property
    def is_finished(self) -> bool:
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
        return [item for source in self._sources for item in source.last_items()]

    def unread(self) -> Sequence[str]:
        return [line for source in self._sources for line in source.unread()]

    def refused(self) -> Sequence[str]:
        return [line for source in self._sources for line in source.refused()]

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Settles the records at every source; each ignores records of the others."""
        settled = list(places)
        for source in self._sources:
            source.settle(settled)

    def backlog(self) -> int | None:
        known = [waiting for source in self._sources if (waiting := source.backlog()) is not None]
        return sum(known) if known else None

    def close(self) -> None:
        for source in self._sources:
            source.close()


class InputKind(NamedTuple):
    """A kind of input, chosen by how `--input` begins.

    Attributes:
        form: How such an input is named, for the help.
        is_local: Whether only a stream in this process reads it, and one such input at most.
        left: Returns what earlier processes received and could not use, for a process without such an input;
            raises ConfigError if something waits to be read.
    """

    scheme: str
    form: str
    open: Callable[[str, SourceOptions, Checkpoints], StreamSource]
    is_local: bool = False
    left: "Callable[[SourceOptions, Checkpoints], Sequence[str]] | None" = None


def _open_pubsub(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    check_extra(f"--input {name}", "turnwise[gcp]")
    limit, attribute = options.max_record_bytes, options.timestamp_attribute
    return deferred("streaming.inputs.pubsub", "PubSubSource")(name, limit, attribute)


def _open_kafka(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    check_extra("--input kafka://...", "turnwise[kafka]")
    return deferred("streaming.inputs.kafka", "KafkaSource")(name, options.max_record_bytes)


INPUT_KINDS = (
    InputKind(
        "-", "- (standard input)", is_local=True,
        open=lambda _, options, kept: LinesSource(sys.stdin.buffer, "stdin", kept, options.max_record_bytes),
    ),
    InputKind("pubsub:", "pubsub:projects/P/subscriptions/S", _open_pubsub),
    InputKind("kafka:", "kafka://HOST:PORT/TOPIC?group=G", _open_kafka),
    InputKind(
        "otlp:", "otlp://HOST:PORT (receives OTLP/HTTP)", is_local=True,
        open=deferred("streaming.inputs.otlp", "open_receiver"),
        left=deferred("streaming.inputs.otlp_spool", "refused_before"),
    ),
)  # fmt: skip


def input_kind(name: str) -> InputKind | None:
    """Returns the kind of an input; None: it is a path."""
    if name == "-":
        return INPUT_KINDS[0]
    return next((kind for kind in INPUT_KINDS[1:] if name.startswith(kind.scheme)), None)
