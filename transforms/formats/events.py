"""Events of conversations: logs that grow while people talk, joined into whole conversations."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from math import inf
from typing import NamedTuple

from pydantic_core import from_json

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, shown
from turnwise.schemas.registry import modules_of
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.fields import UNREAD, checked, gaps, is_foreseen, unforeseen, with_turns
from turnwise.transforms.formats.identity import identify
from turnwise.transforms.formats.messages.kinds import stated
from turnwise.transforms.formats.registry import AUTO, FORMATS, EventReader, NoConversation, time_by

UNNUMBERED = -1
_OF_DELIVERY = ("receiveTimestamp", "receive_timestamp")


class ConversationEvent(NamedTuple):
    """One event of a conversation, to be joined with its other events.

    Attributes:
        turn_index: 0-based; -1: unknown.
        event_time: Seconds since the epoch; None: not stated.
        event_id: The record's own id, or else a digest of its text: equal ones are the same event twice.
        is_end: Whether it states the end of the conversation.
        kind: Name of its format.
        watermark: The source's watermark when it was read; 0.0: unknown.
        group: Group of events that share their conversations, which not all of them name; "": none.
    """

    session_id: str
    turn_index: int
    event_time: float | None
    event_id: str
    is_end: bool
    kind: str
    record: Record
    watermark: float = 0.0
    group: str = ""


def read_event(name: str, value: JsonValue, record: Record) -> ConversationEvent:
    """Returns the event that a parsed record of an event format is; raises ValueError if it is none."""
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {shown(value)}")
    events = _event_reader(name)
    session_id, turn_index = events.locate(value)
    if not UNNUMBERED <= turn_index < 2**31:
        raise ValueError(f"there is no turn {turn_index}")
    own_id = as_text(value.get("event_id")) or as_text(events.own_id(value))
    event_id = own_id or blake2b(record.data.strip(), digest_size=16).hexdigest()
    time = time_by(FORMATS[name], value)
    is_end, group = events.is_end(value), events.group(value)
    return ConversationEvent(session_id, turn_index, time, event_id, is_end, name, record, group=group)


def _event_reader(name: str) -> EventReader:
    events = FORMATS[name].events
    if events is None:
        raise ValueError(f"records of the format {name} are no events")
    return events


def may_hold_events(input_format: str) -> bool:
    """Returns whether records of a format, or of `auto`, can be events."""
    return may_hold_groups(input_format) or bool((kind := FORMATS[input_format]).events or kind.may_be_part)


def may_hold_groups(input_format: str) -> bool:
    """Returns whether records of a format, or of `auto`, can be split into events that come in groups."""
    if input_format == AUTO:
        return True
    chosen = FORMATS[input_format]
    reader = FORMATS[chosen.splitter.into].events if chosen.splitter else chosen.events
    return bool(reader and reader.lend)


def in_order(events: Iterable[ConversationEvent]) -> list[ConversationEvent]:
    """Returns events by turn index, then time, then place in their source."""
    return sorted(
        events, key=lambda e: (e.turn_index, -inf if e.event_time is None else e.event_time, _order(e))
    )


def distinct(events: Iterable[ConversationEvent]) -> list[ConversationEvent]:
    """Returns events with distinct ids; of several with one id, the one with the lowest position."""
    by_id: dict[str, ConversationEvent] = {}
    for event in sorted(events, key=_order):
        by_id.setdefault(event.event_id, event)
    return list(by_id.values())


def add_clashes(
    conversation: Conversation, given: Sequence[ConversationEvent], kept: Sequence[ConversationEvent]
) -> None:
    """Adds a finding to all turns, in place, for events that have the id of a kept one and differ from it.

    The kept ones, which the conversation was made of, are the `distinct` ones of those given.
    """
    if len(given) == len(kept):
        return
    by_id = {event.event_id: event.record.data for event in kept}
    pairs = ((event.event_id, event.record.data, by_id[event.event_id]) for event in given)
    clashing = {name for name, left, right in pairs if differ(left, right)}
    text = "several different events have the id {!r}; only the first is read"
    gaps(UNREAD, (text.format(name[:60]) for name in sorted(clashing))).add_to_all(conversation.turns)


def differ(left: bytes, right: bytes) -> bool:
    """Returns whether the texts of two events differ in more than the time of delivery."""
    whole = [from_json(data).items() for data in (left, right) if left != right]
    contents = [{key: value for key, value in items if key not in _OF_DELIVERY} for items in whole]
    return bool(contents) and contents[0] != contents[1]


def _order(event: ConversationEvent) -> tuple[str, int, int]:
    """Returns the source, the record's position in it, and of several events in the record the place."""
    record = event.record
    return record.source, record.position, record.receipts[0].part if record.receipts else 0


def join_events(session_id: str, events: Sequence[ConversationEvent]) -> Conversation:
    """Joins the events of one conversation, given in order; raises ValueError, one line, if it cannot."""
    kinds = sorted({event.kind for event in events})
    if len(kinds) > 1:
        raise ValueError(f"events of one conversation in several formats: {', '.join(kinds)}")
    try:
        return _joined(kinds[0], session_id, [stated(from_json(event.record.data)) for event in events])
    except RAISED as error:
        if is_foreseen(error):
            raise
        raise _unforeseen_event(error, events, partial(_joined, kinds[0], session_id)) from error


def _joined(name: str, session_id: str, values: list[JsonObject]) -> Conversation:
    events = _event_reader(name)
    joined = events.join(session_id, values)
    kind = FORMATS[name]
    joined = with_turns(joined if events.is_checked else checked(joined, is_added=not kind.rank))
    identify(joined, kind.places, values)
    return joined


def _unforeseen_event(
    error: BaseException, events: Sequence[ConversationEvent], read: Callable[[list[JsonObject]], object]
) -> ValueError:
    """Returns the error of events of a format whose reader raised an error that is not meant for people."""
    name = events[0].kind
    data = b'{"events":[%b]}' % b",".join(event.record.data for event in events)
    modules = None if FORMATS[name].rank else modules_of(FORMATS[name])
    message = unforeseen(error, data, lambda text: read(from_json(text)["events"]), modules)
    return ValueError(f"not events of the format {name}: {message}")


def is_of_endless_group(event: ConversationEvent) -> bool:
    """Returns whether an event waits in a group of any number of conversations."""
    is_waiting = event.group != "" and event.session_id in ("", event.group)
    return is_waiting and _event_reader(event.kind).is_endless


class NamedEvents(NamedTuple):
    """Events of a group, each with its conversation's id, and what belongs to none."""

    events: list[ConversationEvent]
    failures: list[Failure]


def named_events(group: str, given: Sequence[ConversationEvent], counts: Counter[str]) -> NamedEvents:
    """Returns the events of a whole group with the ids of their conversations; other events are left out.

    A group that is of no conversation is one finding, a group that cannot be read a failure an event.
    """
    given = [event for event in given if event.group == group]
    lend = _event_reader(given[0].kind).lend
    assert lend is not None
    try:
        lent = lend(group, [event.record.data for event in given])
    except NoConversation as error:
        counts["unused_groups"] += 1
        finding = record_failure("check", error, given[0].record)
        finding.receipts = tuple(receipt for event in given for receipt in event.record.settles())
        return NamedEvents([], [finding])
    except RAISED as error:
        counts["conversations"] += 1
        counts["rejected_conversations"] += 1
        if not is_foreseen(error):
            read = lend
            error = _unforeseen_event(error, given, lambda them: read(group, [*map(dump_json, them)]))
        return NamedEvents([], [record_failure("parse", error, event.record, group) for event in given])
    pieces = Counter(piece.position for piece in lent)
    done: Counter[int] = Counter()
    events: list[ConversationEvent] = []
    for index, name, data in lent:
        record = given[index].record
        if pieces[index] > 1:
            # The record is settled when the outcomes of all conversations that share it are stored.
            n, of = done[index], pieces[index]
            record = record._replace(receipts=tuple(r._replace(piece=n, pieces=of) for r in record.settles()))
        if data != record.data:
            record = record._replace(data=data)
        done[index] += 1
        named = given[index]._replace(session_id=name, record=record)
        events.append(named._replace(is_end=False, turn_index=UNNUMBERED, group=""))
    return NamedEvents(events, [])
