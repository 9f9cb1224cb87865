"""Hands what the first half of a run gave from a worker process to the one that ends the run."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.pvalue import PCollection, TaggedOutput

from turnwise.pipeline.batch.build import Scored
from turnwise.pipeline.io.run_end import Written
from turnwise.pipeline.io.run_files import ShardSink
from turnwise.transforms.beam.counters import OF_RUN
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.metrics.codec import packed, unpacked
from turnwise.transforms.metrics.state import MetricsState

_STATE, _WRITTEN, _TOLD = "state", "written", "told"
_CODER = FastPrimitivesCoder()
"""Beam's own coder of what goes from one worker to another."""


def hand_over(root: beam.Pipeline, scored: Scored, sink: ShardSink, place: Path) -> None:
    """Adds the steps that write everything but the rows into one file."""
    parts: dict[str, Sequence[PCollection[Any]]] = {
        _STATE: scored.states,
        _TOLD: [*scored.told, *sink.written, sink.begun(root)],  # there may be nothing else
    }
    handed = [
        collection | f"Hand_{kind}{number}" >> beam.Map(_plain)
        for kind, collections in parts.items()
        for number, collection in enumerate(collections)
    ]
    gathered = handed | "Hand_All" >> beam.Flatten() | "Hand_Gather" >> beam.GroupByKey()
    _ = gathered | "Hand_Over" >> beam.ParDo(_HandOverFn(str(place)))


def take_over(root: beam.Pipeline, files: Sequence[Path]) -> Scored:
    """Adds the steps that read what workers wrote."""
    taken = (
        root
        | "Handed" >> beam.Create([str(file) for file in files], reshuffle=False)
        | "TakeOver" >> beam.ParDo(_TakeOverFn()).with_outputs(_STATE, main=_TOLD)
    )
    return Scored([taken[_STATE]], [taken[_TOLD]])


def _plain(element: tuple[str, Any]) -> tuple[str, tuple[str, Any, Any]]:
    """Returns an element without types of turnwise, under the key of the run."""
    key, value = element
    if isinstance(value, MetricsState):
        return OF_RUN, (_STATE, key, packed(value))
    if isinstance(value, Written):
        return OF_RUN, (_WRITTEN, key, tuple(value))
    return OF_RUN, (_TOLD, key, value)


class _HandOverFn(InspectedDoFn):
    def __init__(self, place: str) -> None:
        self._place = place

    def process(self, element: tuple[str, Iterable[tuple[str, Any, Any]]]) -> None:
        Path(self._place).write_bytes(_CODER.encode(list(element[1])))


class _TakeOverFn(InspectedDoFn):
    def process(self, place: str) -> Iterator[Any]:
        for kind, key, value in _CODER.decode(Path(place).read_bytes()):
            if kind == _STATE:
                yield TaggedOutput(_STATE, (key, unpacked(value)))
            else:
                yield key, Written(*value) if kind == _WRITTEN else value
