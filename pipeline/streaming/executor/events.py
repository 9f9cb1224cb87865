"""What happens to a stream: elements come, its watermark and its clock advance."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.pvalue import PBegin, PCollection
from apache_beam.transforms.core import Windowing
from apache_beam.transforms.window import GlobalWindows, TimestampedValue
from apache_beam.utils.timestamp import Timestamp


class Elements(NamedTuple):
    """Elements that come together: one bundle."""

    values: Sequence[TimestampedValue[Any]]


class AdvanceWatermark(NamedTuple):
    """The time before which no more elements are expected."""

    time: Timestamp


class AdvanceClock(NamedTuple):
    """Seconds that have passed."""

    seconds: float


StreamEvent: TypeAlias = Elements | AdvanceWatermark | AdvanceClock


class Events(beam.PTransform[PBegin, PCollection[Any]]):
    """The root of a stream's graph; gives the elements of its events.

    Attributes:
        events: Returns the events; called when the pipeline is run. The stream ends after the last one.
    """

    def __init__(self, events: Callable[[], Iterable[StreamEvent]]) -> None:
        super().__init__()
        self.events = events

    def expand(self, root: PBegin) -> "PCollection[Any]":
        """Returns the elements."""
        return PCollection(root.pipeline, is_bounded=False)

    def get_windowing(self, inputs: Any) -> Windowing:
        """Returns the global window."""
        return Windowing(GlobalWindows())
