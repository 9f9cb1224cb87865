"""What a stream has of the processes before: sums, and where to look up the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.pipeline.streaming.local.runtime import find_runtime
from turnwise.pipeline.streaming.local.sums import WindowSum
from turnwise.transforms.streaming.assembly import ClosedSession
from turnwise.transforms.streaming.deduplication import Counted


class Restored(NamedTuple):
    """What earlier processes leave to this one.

    Attributes:
        sums: All that was counted, by window and app version.
        sessions: Finds a conversation that was joined from events and may still grow, by its id.
        counted: Finds what was counted of a conversation, by its name.
    """

    sums: Sequence[WindowSum]
    sessions: Callable[[str], ClosedSession | None]
    counted: Callable[[str], Counted | None]


@dataclass(frozen=True)
class EarlierSessions:
    """Looks sessions up at the desk of a name; engines pickle it."""

    runtime: str

    def __call__(self, session_id: str) -> ClosedSession | None:
        """Returns a session that an earlier process closed."""
        return find_runtime(self.runtime).store.earlier.session(session_id)


@dataclass(frozen=True)
class EarlierCounted:
    """Looks conversations up at the desk of a name; engines pickle it."""

    runtime: str

    def __call__(self, name: str) -> Counted | None:
        """Returns what an earlier process counted."""
        return find_runtime(self.runtime).store.earlier.counted(name)
