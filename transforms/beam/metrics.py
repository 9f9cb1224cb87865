"""The CombineFn over the sums of the metrics, and their coder."""

from collections.abc import Iterable

import apache_beam as beam
from apache_beam.coders import Coder
from apache_beam.coders.typecoders import registry

from turnwise.transforms.metrics.state import MetricsState, packed, unpacked


@beam.typehints.with_input_types(MetricsState)
@beam.typehints.with_output_types(MetricsState)
class MetricsFn(beam.CombineFn):
    """Adds up sums; the accumulator is itself the output, to be merged or read."""

    def create_accumulator(self) -> MetricsState:
        """Returns the sums of no conversation."""
        return MetricsState()

    def add_input(self, state: MetricsState, sums: MetricsState) -> MetricsState:
        """Adds the sums of a bundle."""
        state.merge(sums)
        return state

    def merge_accumulators(self, states: Iterable[MetricsState]) -> MetricsState:
        """Adds up sums."""
        merged = MetricsState()
        for state in states:
            merged.merge(state)
        return merged

    def extract_output(self, state: MetricsState) -> MetricsState:
        """Returns the sums."""
        return state


class StateCoder(Coder):
    """Encodes sums for Beam."""

    def encode(self, value: MetricsState) -> bytes:
        """Returns the encoded state."""
        return packed(value)

    def decode(self, encoded: bytes) -> MetricsState:
        """Returns the decoded state."""
        return unpacked(encoded)

    def is_deterministic(self) -> bool:
        """Returns False: equal sums may hold their entries in another order."""
        return False

    def to_type_hint(self) -> type[MetricsState]:
        """Returns the type hint of the coded values."""
        return MetricsState


registry.register_coder(MetricsState, StateCoder)
