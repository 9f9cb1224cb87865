"""What the steps of a local pipeline share with the feed and the files: found by the output's name."""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.streaming.ledger import Ledger
from pipeline.streaming.metrics_files import MetricsFiles
from pipeline.streaming.store import Store
from transforms.streaming.rules import StreamRules


@dataclass(frozen=True)
class Desk:
    """The places where a local stream's records come from and its outcomes go to."""

    store: Store
    ledger: Ledger
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


_DESKS: dict[str, Desk] = {}


def open_desk(name: str, desk: Desk) -> Callable[[], None]:
    """Lets the steps of this process find a desk; returns what takes it away again."""
    _DESKS[name] = desk

    def close() -> None:
        _DESKS.pop(name, None)

    return close


def find_desk(name: str) -> Desk:
    """Returns an open desk; raises KeyError if this process has none of that name."""
    return _DESKS[name]
