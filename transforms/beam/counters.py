"""Counts that travel as data: what a bundle counted is one element, so that a repeated bundle counts once."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows

NAMESPACE = "turnwise"
COUNTS = "counts"


class CountingDoFn(beam.DoFn):
    """A DoFn that counts by name; the counts of a bundle leave it when the bundle ends.

    They are an element of the output `COUNTS`, for batches, and Beam's counters, which runners show while a
    job runs.

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
        return [TaggedOutput(COUNTS, GlobalWindows.windowed_value(dict(self.counts)))] if self.counts else []


class _SumFn(beam.CombineFn):
    """Adds up counts by name."""

    def create_accumulator(self) -> Counter[str]:
        return Counter()

    def add_input(self, total: Counter[str], counts: dict[str, int]) -> Counter[str]:
        total.update(counts)
        return total

    def merge_accumulators(self, totals: Iterable[Counter[str]]) -> Counter[str]:
        return sum(totals, Counter())

    def extract_output(self, total: Counter[str]) -> dict[str, int]:
        return dict(total)


def total_counts(counts: "Iterable[PCollection[dict[str, int]]]") -> "PCollection[dict[str, int]]":
    """Adds the steps that add up the counts of all bundles; yields one element, {} if nothing was counted."""
    total: PCollection[dict[str, int]] = (
        tuple(counts) | "AllCounts" >> beam.Flatten() | "TotalCounts" >> beam.CombineGlobally(_SumFn())
    )
    return total
