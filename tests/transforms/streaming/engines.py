"""The engines of streams in one process: Beam's, which is the reference, and turnwise's."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection
from apache_beam.testing.test_stream import ElementEvent, ProcessingTimeEvent, TestStream
from apache_beam.utils.timestamp import Duration

from turnwise.pipeline.batch.execution import BeamOptions
from turnwise.pipeline.streaming.executor import (
    AdvanceClock,
    AdvanceWatermark,
    Elements,
    Events,
    StreamEvent,
    StreamRunner,
)

TestStream.__test__ = False
ENGINES = ("BundleBasedDirectRunner", "StreamRunner")
CHOSEN = [ENGINES[-1]]
"""The engine of the next pipelines; the fixture `engine` chooses it."""


def new_pipeline() -> beam.Pipeline:
    """Returns an empty pipeline of the chosen engine."""
    runner = StreamRunner() if CHOSEN[0] == "StreamRunner" else CHOSEN[0]
    return beam.Pipeline(runner=runner, options=BeamOptions(["--streaming"]))


def arriving(root: beam.Pipeline, stream: TestStream) -> "PCollection[Any]":
    """Adds what happens in a stream, and its end, to a pipeline."""
    whole = stream.advance_watermark_to_infinity()
    if CHOSEN[0] != "StreamRunner":
        return root | "Stream" >> whole
    return root | "Stream" >> Events(lambda: _events(whole))


def _events(stream: TestStream) -> Iterator[StreamEvent]:
    for event in stream._events:
        if isinstance(event, ElementEvent):
            yield Elements(event.timestamped_values)
        elif isinstance(event, ProcessingTimeEvent):
            yield AdvanceClock(float(Duration.of(event.advance_by)))
        else:
            yield AdvanceWatermark(event.new_watermark)
