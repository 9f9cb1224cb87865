"""The source and sinks of a local stream, as pipeline steps."""

import json
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.pvalue import PCollection
from apache_beam.testing.test_stream import TestStream

from turnwise.pipeline.io.directory import ALERTS_FILE
from turnwise.pipeline.streaming.local.runtime import find_runtime
from turnwise.schemas.arrival import Arrival
from turnwise.transforms.streaming.outcome import RecordOutcome
from turnwise.transforms.streaming.windowed import WindowMetrics


class _LookUpFn(beam.DoFn):
    """Replaces the name of a record by the record."""

    def __init__(self, runtime: str) -> None:
        self._runtime = runtime

    def process(self, place: bytes) -> Iterator[Arrival]:
        source, position = json.loads(place)
        yield find_runtime(self._runtime).in_flight.arrival((source, position))


class _CommitFn(beam.DoFn):
    """Commits the outcomes of a bundle in one transaction."""

    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self._outcomes: list[RecordOutcome] = []

    def start_bundle(self) -> None:
        self._outcomes = []

    def process(self, outcome: RecordOutcome) -> None:
        self._outcomes.append(outcome)

    def finish_bundle(self) -> None:
        runtime = find_runtime(self._runtime)
        runtime.store.commit(self._outcomes, runtime.in_flight)


class _UpdateMetricsFn(beam.DoFn):
    def __init__(self, runtime: str) -> None:
        self._runtime = runtime

    def process(self, metrics: WindowMetrics) -> None:
        find_runtime(self._runtime).metrics.put(metrics)


class LocalStream:
    """The source and sinks of a stream in this process."""

    def __init__(self, runtime: str, endpoint: str) -> None:
        self._runtime, self._endpoint = runtime, endpoint
        self.alerts_path: Path | None = Path(runtime) / ALERTS_FILE

    def read(self, root: beam.Pipeline) -> "PCollection[Arrival]":
        """Adds the steps that read the records from the engine."""
        places = root | "Arrive" >> TestStream(coder=BytesCoder(), endpoint=self._endpoint)
        return places | "Take" >> beam.ParDo(_LookUpFn(self._runtime))

    def write_outcomes(self, outcomes: "PCollection[RecordOutcome]") -> None:
        """Adds the step that writes outcomes."""
        _ = outcomes | "Keep" >> beam.ParDo(_CommitFn(self._runtime))

    def write_metrics(self, metrics: "PCollection[WindowMetrics]") -> None:
        """Adds the step that writes the metrics of windows."""
        _ = metrics | "Show" >> beam.ParDo(_UpdateMetricsFn(self._runtime))
