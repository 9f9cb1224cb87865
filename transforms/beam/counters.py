"""Counts that travel as data: what a bundle counted is one element, so that a repeated bundle counts once."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindows

from turnwise.transforms.beam.inspected import InspectedDoFn

NAMESPACE = "turnwise"
COUNTS = "counts"
OF_RUN = ""
"""Key of what a run gathers in one place when it ends."""


def told(tag: str, value: Any) -> Any:
    """Returns an output of the end of a bundle that the run gathers when it ends."""
    return TaggedOutput(tag, GlobalWindows.windowed_value((OF_RUN, value)))


class CountingDoFn(InspectedDoFn):
    """A DoFn that counts by name; the counts of a bundle leave it when the bundle ends.

    They are an element of the output `COUNTS`, under the key `OF_RUN`, for batches, and Beam's counters,
    which runners show while a job runs.

    Attributes:
        counts: The counts of the bundle by name.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def start_bundle(self) -> None:
        """Discards the counts of an aborted bundle."""
        self.counts = Counter()

    def count(self, name: str, number: int = 1) -> None:
        """Adds to a counter."""
        self.counts[name] += number

    def finish_bundle(self) -> Iterable[Any]:
        """Returns the counts, and passes them to Beam."""
        for name, number in self.counts.items():
            Metrics.counter(NAMESPACE, name).inc(number)
        return [told(COUNTS, dict(self.counts))] if self.counts else []
