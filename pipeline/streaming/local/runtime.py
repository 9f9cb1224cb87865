"""What the steps of a local pipeline share with the source and the files: found by the output's name."""

from collections.abc import Callable
from dataclasses import dataclass

from turnwise.pipeline.streaming.local.in_flight import InFlightRecords
from turnwise.pipeline.streaming.local.metrics_files import MetricsFiles
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.transforms.streaming.rules import StreamRules


@dataclass(frozen=True)
class Runtime:
    """The places where a local stream's records come from and its outcomes go to."""

    store: StreamStorage
    in_flight: InFlightRecords
    metrics: MetricsFiles

    def late_conversations(self) -> int:
        """Returns how many kept conversations stand in no window, because they came too late for theirs."""
        with self.store.lock:
            kept = sum(state.conversations for state in self.store.totals.values())
        return kept - self.metrics.conversations()

    def complete_windows(self, rules: StreamRules) -> int:
        """Gives windows the conversations that came too late for them while the stream went on.

        Returns:
            How many these were.
        """
        late = self.late_conversations()
        self.metrics.complete(self.store.sums.all(), rules.window)
        return late

    def write_metrics(self) -> None:
        """Writes the metrics files if something changed; raises OSError."""
        with self.store.lock:
            self.metrics.write(self.store.totals, self.store.conversations.changes)


_RUNTIMES: dict[str, Runtime] = {}


def open_runtime(name: str, runtime: Runtime) -> Callable[[], None]:
    """Lets the steps of this process find a desk; returns what takes it away again."""
    _RUNTIMES[name] = runtime

    def close() -> None:
        _RUNTIMES.pop(name, None)

    return close


def find_runtime(name: str) -> Runtime:
    """Returns an open desk; raises KeyError if this process has none of that name."""
    return _RUNTIMES[name]
