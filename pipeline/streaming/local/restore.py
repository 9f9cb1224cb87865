"""What a stream has of the processes before: sums, and where to look up the rest."""

from dataclasses import dataclass

from turnwise.pipeline.streaming.local.runtime import find_runtime
from turnwise.transforms.streaming.assembly import ClosedSession
from turnwise.transforms.streaming.deduplication import Counted


@dataclass(frozen=True)
class EarlierSessions:
    """Looks sessions up in the runtime of a name; engines pickle it."""

    runtime: str

    def __call__(self, session_id: str) -> ClosedSession | None:
        """Returns a session that an earlier process closed."""
        return find_runtime(self.runtime).store.earlier.session(session_id)


@dataclass(frozen=True)
class EarlierCounted:
    """Looks conversations up in the runtime of a name; engines pickle it."""

    runtime: str

    def __call__(self, name: str) -> Counted | None:
        """Returns what an earlier process counted."""
        return find_runtime(self.runtime).store.earlier.counted(name)
