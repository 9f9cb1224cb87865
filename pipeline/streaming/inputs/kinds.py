"""The inputs of a stream that are no paths: one object each."""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceOptions, StreamSource

OpenFunction: TypeAlias = Callable[[str, SourceOptions, Checkpoints], StreamSource]


class InputKind(NamedTuple):
    """A kind of input, chosen by how `--input` begins.

    Attributes:
        scheme: Start of the names of such inputs.
        form: How such an input is named, for the help.
        open: Opens an input by its name; raises ConfigError if that is impossible.
        is_local: Whether only a stream in this process reads it.
        is_single: Whether a stream can have one such input at most.
        left: Of a kind that stores what it received: returns what earlier processes could not use, for a
            process that has no such input; raises ConfigError if something waits to be read.
    """

    scheme: str
    form: str
    open: OpenFunction
    is_local: bool = False
    is_single: bool = False
    left: "Callable[[SourceOptions, Checkpoints], Sequence[str]] | None" = None


def _open_standard_input(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    from turnwise.pipeline.streaming.inputs.lines import LinesSource

    return LinesSource(sys.stdin.buffer, "stdin", checkpoints, options.max_record_bytes)


def _open_pubsub(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource

    return PubSubSource(name, options.max_record_bytes, options.timestamp_attribute)


def _open_kafka(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    from turnwise.pipeline.streaming.inputs.kafka import KafkaSource

    return KafkaSource(name, options.max_record_bytes)


def _open_otlp(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    from turnwise.pipeline.streaming.inputs.otlp import open_receiver

    return open_receiver(name, options, checkpoints)


def _left_by_receiver(options: SourceOptions, checkpoints: Checkpoints) -> Sequence[str]:
    from turnwise.pipeline.streaming.inputs.otlp import refused_before

    return refused_before(options.directory, checkpoints)


INPUT_KINDS = (
    InputKind("-", "- (standard input)", _open_standard_input, is_local=True, is_single=True),
    InputKind("pubsub:", "pubsub:projects/P/subscriptions/S", _open_pubsub),
    InputKind("kafka:", "kafka://HOST:PORT/TOPIC?group=G", _open_kafka),
    InputKind(
        "otlp:",
        "otlp://HOST:PORT (receives OTLP/HTTP)",
        _open_otlp,
        is_local=True,
        is_single=True,
        left=_left_by_receiver,
    ),
)


def input_kind(name: str) -> InputKind | None:
    """Returns the kind of an input; None: it is a path."""
    if name == "-":
        return INPUT_KINDS[0]
    return next((kind for kind in INPUT_KINDS[1:] if name.startswith(kind.scheme)), None)
