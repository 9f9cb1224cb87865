"""Chooses the sources of what `--input` names."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.pipeline.streaming.inputs import kafka_uri, subscription
from turnwise.pipeline.streaming.inputs.composite import CompositeSource
from turnwise.pipeline.streaming.inputs.directory import DirectorySource
from turnwise.pipeline.streaming.inputs.kafka import KafkaSource
from turnwise.pipeline.streaming.inputs.lines import LinesSource
from turnwise.pipeline.streaming.inputs.pubsub import PubSubSource
from turnwise.pipeline.streaming.inputs.source import Checkpoints, StreamSource
from turnwise.schemas.config import ConfigError

STANDARD_INPUT = "-"


class SourceOptions(NamedTuple):
    """What all sources are told.

    Attributes:
        max_record_bytes: A larger record is given as an error.
        timestamp_attribute: Attribute of a Pub/Sub message that holds its event time; None: the record tells.
    """

    max_record_bytes: int
    timestamp_attribute: str | None = None


def open_source(inputs: Sequence[str], options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    """Opens what is read: `-`, `pubsub:…` and `kafka://…` each as a source, all paths together as one.

    Raises:
        ConfigError: One of them cannot be read; those that were opened before it are closed.
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
    return name == STANDARD_INPUT or name.startswith((subscription.SCHEME, kafka_uri.SCHEME))


def _open_stream(name: str, options: SourceOptions, checkpoints: Checkpoints) -> StreamSource:
    if name == STANDARD_INPUT:
        return LinesSource(sys.stdin.buffer, "stdin", checkpoints, options.max_record_bytes)
    if name.startswith(kafka_uri.SCHEME):
        return KafkaSource(name, options.max_record_bytes)
    return PubSubSource(name, options.max_record_bytes, options.timestamp_attribute)
