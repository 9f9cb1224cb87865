"""The first and the last steps of a local stream."""

import json
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.pvalue import PCollection
from apache_beam.testing.test_stream import TestStream

from pipeline.directory import ALERTS_FILE
from pipeline.streaming.desk import find_desk
from schemas.arrival import Arrival
from transforms.streaming.outcome import Outcome
from transforms.streaming.windowed import WindowMetrics


class _TakeFn(beam.DoFn):
    """Puts a record in the place of its name."""

    def __init__(self, desk: str) -> None:
        self._desk = desk

    def process(self, place: bytes) -> Iterator[Arrival]:
        source, position = json.loads(place)
        yield find_desk(self._desk).ledger.arrival((source, position))


class _KeepFn(beam.DoFn):
    """Keeps the outcomes of a bundle in one step."""

    def __init__(self, desk: str) -> None:
        self._desk = desk
        self._outcomes: list[Outcome] = []

    def start_bundle(self) -> None:
        self._outcomes = []

    def process(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)

    def finish_bundle(self) -> None:
        desk = find_desk(self._desk)
        desk.store.commit(self._outcomes, desk.ledger)


class _ShowFn(beam.DoFn):
    def __init__(self, desk: str) -> None:
        self._desk = desk

    def process(self, metrics: WindowMetrics) -> None:
        find_desk(self._desk).metrics.put(metrics)


class LocalStream:
    """A stream's source and sinks in this process."""

    def __init__(self, desk: str, endpoint: str) -> None:
        """Keeps where the shared things are, and where the engine is asked for events."""
        self._desk, self._endpoint = desk, endpoint
        self.alerts_path: Path | None = Path(desk) / ALERTS_FILE

    def read(self, root: beam.Pipeline) -> "PCollection[Arrival]":
        """Adds the steps that give the records the engine announces."""
        places = root | "Arrive" >> TestStream(coder=BytesCoder(), endpoint=self._endpoint)
        return places | "Take" >> beam.ParDo(_TakeFn(self._desk))

    def keep(self, outcomes: "PCollection[Outcome]") -> None:
        """Adds the step that writes outcomes."""
        _ = outcomes | "Keep" >> beam.ParDo(_KeepFn(self._desk))

    def show(self, metrics: "PCollection[WindowMetrics]") -> None:
        """Adds the step that writes the metrics of windows."""
        _ = metrics | "Show" >> beam.ParDo(_ShowFn(self._desk))
