"""Objects that the steps of a local pipeline share in one process, found by the name of the output."""

from collections.abc import Callable
from dataclasses import dataclass

from turnwise.pipeline.streaming.local.in_flight import InFlightRecords
from turnwise.pipeline.streaming.local.metrics_files import MetricsFiles
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.transforms.streaming.deduplication import Counted
from turnwise.transforms.streaming.durations import StreamRules
from turnwise.transforms.streaming.session import ClosedSession


@dataclass(frozen=True)
class Runtime:
    """The storage, records in flight and metrics files of a local stream."""

    store: StreamStorage
    in_flight: InFlightRecords
    metrics: MetricsFiles

    def late_conversations(self) -> int:
        """Returns how many stored conversations are in no window, because they came too late."""
        with self.store.lock:
            kept = sum(state.conversations for state in self.store.totals.values())
        return kept - self.metrics.conversations()

    def complete_windows(self, rules: StreamRules) -> int:
        """Adds conversations that came too late to their windows; returns how many there were."""
        late = self.late_conversations()
        self.metrics.complete(self.store.sums.all(), rules.window)
        return late

    def write_metrics(self) -> None:
        """Writes the metrics files if something changed; raises OSError."""
        with self.store.lock:
            self.metrics.write(self.store.totals, self.store.conversations.changes)


_RUNTIMES: dict[str, Runtime] = {}


def open_runtime(name: str, runtime: Runtime) -> Callable[[], None]:
    """Registers a runtime under a name; returns a function that removes it."""
    _RUNTIMES[name] = runtime

    def close() -> None:
        _RUNTIMES.pop(name, None)

    return close


def find_runtime(name: str) -> Runtime:
    """Returns the runtime of a name; raises KeyError if there is none."""
    return _RUNTIMES[name]


@dataclass(frozen=True)
class EarlierSessions:
    """Looks up sessions in the runtime of a name. Picklable."""

    runtime: str

    def __call__(self, session_id: str) -> ClosedSession | None:
        """Returns a session that an earlier process closed, or None."""
        return find_runtime(self.runtime).store.earlier.session(session_id)


@dataclass(frozen=True)
class EarlierCounted:
    """Looks up conversations in the runtime of a name. Picklable."""

    runtime: str

    def __call__(self, name: str) -> Counted | None:
        """Returns what an earlier process counted of a conversation, or None."""
        return find_runtime(self.runtime).store.earlier.counted(name)
