"""Beam counters that are incremented once a bundle, because an increment costs as much as a small step."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.metrics.metric import Metrics

NAMESPACE = "turnwise"


class CountingDoFn(beam.DoFn):
    """A DoFn that counts by name; the counts of a bundle reach Beam when the bundle ends.

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

    def finish_bundle(self) -> Iterator[Any] | None:
        """Passes the counts to Beam."""
        for name, number in self.counts.items():
            Metrics.counter(NAMESPACE, name).inc(number)
        return None
