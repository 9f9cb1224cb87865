"""Events that come in groups: some events of a group name the conversation, and lend its id to the others."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.formats.events import ConversationEvent, event_reader, unforeseen_event
from turnwise.transforms.formats.lending import Lent, NoConversation
from turnwise.transforms.formats.problems import is_foreseen


class NamedEvents(NamedTuple):
    """Events of a group, each with its conversation's id, and what belongs to none."""

    events: list[ConversationEvent]
    failures: list[Failure]


def named_events(group: str, given: Sequence[ConversationEvent], counts: Counter[str]) -> NamedEvents:
    """Returns the events of a whole group with the ids of their conversations; other events are left out.

    A group that is of no conversation is one finding, a group that cannot be read a failure an event.
    """
    given = [event for event in given if event.group == group]
    lend = event_reader(given[0].kind).lend
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
        counts["lost_conversations"] += 1
        if not is_foreseen(error):
            kind, read = given[0].kind, lend
            error = unforeseen_event(error, kind, given, lambda them: read(group, [*map(dump_json, them)]))
        return NamedEvents([], [record_failure("parse", error, event.record, group) for event in given])
    pieces = Counter(each.place for each in lent)
    done: Counter[int] = Counter()
    found: list[ConversationEvent] = []
    for each in lent:
        found.append(_named(given[each.place], each, done[each.place], pieces[each.place]))
        done[each.place] += 1
    return NamedEvents(found, [])


def _named(event: ConversationEvent, lent: Lent, piece: int, pieces: int) -> ConversationEvent:
    record = event.record
    if pieces > 1:
        # The record is settled when the outcomes of all conversations that share it are stored.
        receipts = tuple(one._replace(piece=piece, pieces=pieces) for one in record.settles())
        record = record._replace(receipts=receipts)
    if lent.data != record.data:
        record = record._replace(data=lent.data)
    return event._replace(
        session_id=lent.conversation_id, record=record, is_end=False, turn_index=-1, group=""
    )
