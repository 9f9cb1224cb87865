"""State of earlier processes from which a stream continues."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.streaming.assembly import ClosedSession
from turnwise.transforms.streaming.deduplication import Counted


class WindowSum(NamedTuple):
    """Sums of an app version ("": unknown) in one window; `start` in seconds since the epoch."""

    start: float
    app_version: str
    state: MetricsState


class Restored(NamedTuple):
    """State of earlier processes.

    Attributes:
        sums: Metrics by window and app version.
        sessions: Returns a conversation that was joined from events and may still grow, by session id.
        counted: Returns what was counted of a conversation, by its name.
    """

    sums: Sequence[WindowSum]
    sessions: Callable[[str], ClosedSession | None]
    counted: Callable[[str], Counted | None]
