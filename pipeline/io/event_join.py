"""Joins events in temporary files, so that memory does not grow with their number."""

from collections import Counter
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from turnwise.pipeline.io.event_spool import EventSpool
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import LoggedConversation, join_session


class JoinOutcome(NamedTuple):
    """What events were joined into.

    Attributes:
        events: The events.
        found: Their conversation, or failures.
    """

    events: Sequence[ConversationEvent]
    found: Sequence[LoggedConversation | Failure]


class EventJoin:
    """All events of some input, in temporary files that end with the `with` statement."""

    def __init__(self) -> None:
        self._events, self._groups = EventSpool(), EventSpool()

    def __enter__(self) -> "EventJoin":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._events.close()
        self._groups.close()

    def add(self, event: ConversationEvent) -> None:
        """Keeps an event."""
        (self._groups if event.group else self._events).add(event)

    def joined(self, counts: Counter[str]) -> Iterator[JoinOutcome]:
        """Yields every conversation, in the order of their first events; before them what belongs to none.

        Args:
            counts: Counters by name, added to in place.
        """
        for group, events in self._groups.sessions():
            named = named_events(group, events, counts)
            for event in named.events:
                self._events.add(event)
            if named.failures:
                yield JoinOutcome(events, named.failures)
        for session_id, events in self._events.sessions():
            yield JoinOutcome(events, join_session(session_id, events, counts))
