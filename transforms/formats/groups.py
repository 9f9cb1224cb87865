"""Events that come in groups: some events of a group name the conversation, and lend its id to the others."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.failure import RAISED, Failure, record_failure
from turnwise.transforms.formats.events import ConversationEvent, event_reader
from turnwise.transforms.formats.lending import NoConversation


class NamedEvents(NamedTuple):
    """Events of a group, each with its conversation's id, and what belongs to none."""

    events: list[ConversationEvent]
    failures: list[Failure]


def named_events(group: str, given: Sequence[ConversationEvent], counts: Counter[str]) -> NamedEvents:
    """Returns the events of a whole group with the ids of their conversations.

    A group that is of no conversation is one finding, a group that cannot be read a failure an event.
    """
    lend = event_reader(given[0].kind).lend
    try:
        assert lend is not None
        lent = lend(group, [event.record.data for event in given])
    except NoConversation as error:
        counts["unused_groups"] += 1
        finding = record_failure("check", error, given[0].record)
        finding.receipts = tuple(receipt for event in given for receipt in event.record.settles())
        return NamedEvents([], [finding])
    except RAISED as error:
        counts["conversations"] += 1
        counts["lost_conversations"] += 1
        return NamedEvents([], [record_failure("parse", error, event.record, group) for event in given])
    return NamedEvents([_named(given[each.place], each.conversation_id, each.data) for each in lent], [])


def _named(event: ConversationEvent, session_id: str, data: bytes) -> ConversationEvent:
    record = event.record if data == event.record.data else event.record._replace(data=data)
    return event._replace(session_id=session_id, record=record, is_end=False, turn_index=-1, group="")
