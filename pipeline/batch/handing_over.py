"""Hands what the first half of a run gave from a worker process to the one that ends the run."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.pvalue import TaggedOutput

from turnwise.pipeline.batch.build import Scored
from turnwise.pipeline.io.run_end import Told, Written
from turnwise.pipeline.io.run_files import ShardSink, gathered
from turnwise.transforms.beam.steps import OF_RUN, InspectedDoFn
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked

_STATE, _WRITTEN, _TOLD = "state", "written", "told"
_CODER = FastPrimitivesCoder()
"""Beam's own coder of what goes from one worker to another."""


def hand_over(root: beam.Pipeline, scored: Scored, sink: ShardSink, place: Path) -> None:
    """Adds the steps that write everything but the rows into one file."""
    states = [part | f"Hand_State{i}" >> beam.Map(_packed) for i, part in enumerate(scored.states)]
    told = [*scored.told, *sink.written, sink.begun(root)]  # there may be nothing else
    over = gathered([*states, *told], "Hand_Told", "Hand_Gather")
    _ = over | "Hand_Over" >> beam.ParDo(_HandOverFn(str(place))).with_output_types(Any)


def take_over(root: beam.Pipeline, files: Sequence[Path]) -> Scored:
    """Adds the steps that read what workers wrote."""
    taken = (
        root
        | "Handed" >> beam.Create([str(file) for file in files], reshuffle=False)
        | "TakeOver" >> beam.ParDo(_TakeOverFn()).with_outputs(_STATE, main=_TOLD)
    )
    return Scored([taken[_STATE]], [taken[_TOLD]])


def handed_counts(files: Sequence[Path]) -> Counter[str]:
    """Returns the sum of the counts that workers wrote."""
    counts = Counter[str]()
    for file in files:
        for kind, value in _CODER.decode(file.read_bytes()):
            if kind == _TOLD and isinstance(value, dict):
                counts.update(value)
    return counts


class _Packed(NamedTuple):
    """The sums of an app version."""

    version: str
    state: bytes


def _packed(entry: tuple[str, MetricsState]) -> tuple[str, _Packed]:
    return OF_RUN, _Packed(entry[0], packed(entry[1]))


def _plain(value: "_Packed | Told") -> tuple[str, Any]:
    """Returns a value without types of turnwise, after its kind."""
    if isinstance(value, _Packed):
        return _STATE, tuple(value)
    return (_WRITTEN, tuple(value)) if isinstance(value, Written) else (_TOLD, value)


class _HandOverFn(InspectedDoFn):
    def __init__(self, place: str) -> None:
        self._place = place

    def process(self, element: "tuple[str, Iterable[_Packed | Told]]") -> None:
        Path(self._place).write_bytes(_CODER.encode([_plain(value) for value in element[1]]))


class _TakeOverFn(InspectedDoFn):
    def process(self, place: str) -> Iterator[Any]:
        for kind, value in _CODER.decode(Path(place).read_bytes()):
            if kind == _STATE:
                yield TaggedOutput(_STATE, (value[0], unpacked(value[1])))
            else:
                yield OF_RUN, Written(*value) if kind == _WRITTEN else value
