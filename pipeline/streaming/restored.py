"""What a stream continues from."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.streaming.assembly import ClosedSession
from turnwise.transforms.streaming.deduplication import Counted


class WindowSum(NamedTuple):
    """What an app version ("": unknown) had in one window; `start` in seconds since the epoch."""

    start: float
    app_version: str
    state: MetricsState


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
