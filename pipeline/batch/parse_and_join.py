"""Parses the records of a run that is one process, and joins events on disk: the runner groups in memory."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows

from turnwise.pipeline.io.event_join import EventJoin
from turnwise.pipeline.io.shards import STOPPING
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES, CountingDoFn, Joined
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LogReader, parse_record


class ParseAndJoinFn(CountingDoFn):
    """Yields the conversations of records, and in the end those that events make."""

    def __init__(self, reader: LogReader, is_alone: bool = True) -> None:
        """Sets the reader, and whether this process reads all records; else an event stops the reading."""
        super().__init__()
        self._reader, self._is_alone = reader, is_alone
        self._joining: EventJoin | None = None
        self._has_joined = False

    def process(self, record: Record) -> list[Any]:
        """Returns what a record holds; its events are kept."""
        outputs: list[Any] = []
        for found in parse_record(self._reader, record, self.counts):
            if isinstance(found, ConversationEvent):
                self._keep(found)
            else:
                outputs.append(TaggedOutput(FAILURES, found) if isinstance(found, Failure) else found)
        return outputs

    def _keep(self, event: ConversationEvent) -> None:
        if not self._is_alone:
            STOPPING.is_asked = True
            return
        if self._joining is None:
            if self._has_joined:
                raise RuntimeError("events came in several bundles: the runner is not the in-process one")
            self._joining = EventJoin()
        self._joining.add(event)

    def finish_bundle(self) -> Iterator[Any]:
        """Yields what the events make, and the counts."""
        joining, self._joining = self._joining, None
        if joining is not None:
            self._has_joined = True
            with joining:
                for joined in joining.joined(self.counts):
                    for one in joined.found:
                        value = GlobalWindows.windowed_value(one)
                        yield TaggedOutput(FAILURES, value) if isinstance(one, Failure) else value
        yield from super().finish_bundle()


class ParseAndJoin(beam.PTransform[PCollection[Record], Joined]):
    """Turns all records, which are one bundle, into conversations; events are joined when it ends."""

    def __init__(self, reader: LogReader, *, is_alone: bool = True) -> None:
        """Sets the reader, and whether one process reads all records; else an event stops the reading."""
        super().__init__()
        self._parse = ParseAndJoinFn(reader, is_alone)

    def expand(self, records: "PCollection[Record]") -> Any:
        """Adds the one step, which is fused with those around it."""
        outputs = records | "Parse" >> beam.ParDo(self._parse).with_outputs(
            FAILURES, COUNTS, main="conversations"
        )
        return Joined(outputs["conversations"], outputs[FAILURES], outputs[COUNTS])
