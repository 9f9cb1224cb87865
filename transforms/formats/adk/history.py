"""Selects the valid events of a google-adk session after rewinds and compactions."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from turnwise.schemas.adk import AdkEvent, EventCompaction
from turnwise.transforms.formats.adk.content import parts_of
from turnwise.transforms.formats.unread import Unread, gaps

REWOUND = "UndoneTurns"
COMPACTED = "CompactedTurns"
_SECOND = 0.001
_SHOWN = 5


class History(Struct):
    """The events of a session that count.

    Attributes:
        events: In order; without undone ones, rewinds and compactions.
        notes: What else the log says: (the next event that counts, or None; what is left out before it).
    """

    events: list[AdkEvent] = field(default_factory=list)
    notes: list[tuple[AdkEvent | None, Unread]] = field(default_factory=list)

    def notes_of(self, group: Sequence[AdkEvent], is_last: bool) -> list[Unread]:
        """Returns the omissions before a group of events; the last group also has those after it."""
        return [
            note
            for following, note in self.notes
            if (is_last if following is None else any(event is following for event in group))
        ]


def history(events: Sequence[AdkEvent]) -> History:
    """Returns the events that google-adk counts as having happened.

    A rewind undoes itself and everything from the first event of the invocation that it names. A compaction
    repeats in short what other events hold.
    """
    firsts: dict[str, int] = {}
    for i, event in enumerate(events):
        firsts.setdefault(event.invocation_id, i)
    found, i = History(), len(events) - 1
    while i >= 0:
        event = events[i]
        target, compacted = event.actions.rewind_before_invocation_id, event.actions.compaction
        first = firsts.get(target, i) if target else i
        if target:
            _add(found, _undone(target, events[first:i] if first < i else None))
            i = min(first, i)
        elif compacted is not None:
            _add(found, _lost(compacted, events))
        else:
            found.events.append(event)
        i -= 1
    found.events.reverse()
    return found


def _add(found: History, note: Unread | None) -> None:
    if note is not None:
        found.notes.append((found.events[-1] if found.events else None, note))


def _undone(target: str, undone: Sequence[AdkEvent] | None) -> Unread:
    """Describes the undone events of a rewind; external effects of their calls remain."""
    if undone is None:
        return gaps(REWOUND, [f"a rewind to before {target[:60]!r}, which the log does not hold"])
    count = len({event.invocation_id for event in undone if event.content is not None})
    said = f"{count} invocations were undone by a rewind and are left out"
    names = list(dict.fromkeys(_called(undone)))
    if names:
        more = ", ..." if len(names) > _SHOWN else ""
        said += f"; what they called may have its effects all the same: {', '.join(names[:_SHOWN])}{more}"
    return gaps(REWOUND, [said], calls=bool(names), words=False)


def _called(events: Iterable[AdkEvent]) -> list[str]:
    parts = [part for event in events if not event.partial for part in parts_of(event.content)]
    return [part.function_call.name or "?" for part in parts if part.function_call]


def _lost(compacted: EventCompaction, events: Sequence[AdkEvent]) -> Unread | None:
    """Describes a compaction whose events are not logged; None: its first and last events are logged."""
    logged = [event.timestamp for event in events if event.actions.compaction is None]
    stamps = [stamp for stamp in logged if stamp is not None]
    bounds = (compacted.start_timestamp, compacted.end_timestamp)
    if all(bound is not None and any(abs(bound - at) < _SECOND for at in stamps) for bound in bounds):
        return None
    return gaps(COMPACTED, ["earlier turns were compacted and are not all in the log"])
