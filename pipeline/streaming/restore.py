"""What a stream has to know of the processes before: sums, recent conversations, closed sessions."""

from collections import deque
from typing import NamedTuple

from pipeline.streaming.kept import KeptConversations
from transforms.metrics import MetricsState
from transforms.streaming.assembly import RestoredSession
from transforms.streaming.latest import HORIZON
from transforms.streaming.outcome import Contribution
from transforms.streaming.rules import StreamRules


class WindowSum(NamedTuple):
    """What an app version ("": unknown) had in one window; `start` in seconds since the epoch."""

    start: float
    app_version: str
    state: MetricsState


class Restored(NamedTuple):
    """What earlier processes leave to this one.

    Attributes:
        contributions: The conversations that changed last, so that they count once.
        sums: All that was counted, by window and app version.
        sessions: Conversations that were joined from events and may still grow.
        totals: App version -> all that was counted.
    """

    contributions: list[Contribution]
    sums: list[WindowSum]
    sessions: list[RestoredSession]
    totals: dict[str, MetricsState]


def restore(kept: KeptConversations, rules: StreamRules) -> Restored:
    """Reads what was kept, and adds it up."""
    recent: deque[Contribution] = deque(maxlen=HORIZON)
    sums: dict[tuple[float, str], MetricsState] = {}
    totals: dict[str, MetricsState] = {}
    for contribution in kept.contributions():
        recent.append(contribution)
        start = contribution.event_time - contribution.event_time % rules.window
        key = (start, contribution.app_version)
        sums.setdefault(key, MetricsState()).merge(contribution.statistics)
        totals.setdefault(contribution.app_version, MetricsState()).merge(contribution.statistics)
    sessions = [
        RestoredSession(session_id, revision, events, last + rules.session_gap)
        for session_id, revision, last, events in kept.sessions()
    ]
    window_sums = [WindowSum(start, version, state) for (start, version), state in sums.items()]
    return Restored(list(recent), window_sums, sessions, totals)
