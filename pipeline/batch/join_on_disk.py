"""Joins the events of a run that is one process, on disk, because the in-process runner groups in memory."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows

from turnwise.pipeline.io.event_join import EventJoin
from turnwise.schemas.failure import Failure
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn
from turnwise.transforms.beam.parse import FAILURES, Joined
from turnwise.transforms.formats.events import ConversationEvent


class _JoinOnDiskFn(CountingDoFn):
    def __init__(self) -> None:
        super().__init__()
        self._joining: EventJoin | None = None
        self._has_joined = False

    def process(self, element: tuple[str, ConversationEvent]) -> None:
        if self._joining is None:
            if self._has_joined:
                raise RuntimeError("events came in several bundles: the runner is not the in-process one")
            self._joining = EventJoin()
        self._joining.add(element[1])

    def finish_bundle(self) -> Iterator[Any]:
        joining, self._joining = self._joining, None
        if joining is not None:
            self._has_joined = True
            with joining:
                for joined in joining.joined(self.counts):
                    for one in joined.found:
                        value = GlobalWindows.windowed_value(one)
                        yield TaggedOutput(FAILURES, value) if isinstance(one, Failure) else value
        yield from super().finish_bundle()


class JoinOnDisk(beam.PTransform[PCollection[tuple[str, ConversationEvent]], Joined]):
    """Joins events, of groups and others, into conversations at the end of the only bundle."""

    def expand(self, events: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Adds the one step, which is fused with those around it."""
        outputs = events | "Join" >> beam.ParDo(_JoinOnDiskFn()).with_outputs(
            FAILURES, COUNTS, main="conversations"
        )
        return Joined(outputs["conversations"], outputs[FAILURES], outputs[COUNTS])
