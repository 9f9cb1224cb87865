"""Records to canonical conversations and eval cases, with a failure for whatever cannot be read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.conversation import Conversation, Receipt, Record
from turnwise.schemas.score import KEPT_RECORD_BYTES, RAISED, Failure, record_failure
from turnwise.transforms.formats.events import ConversationEvent, add_clashes, distinct, in_order, join_events
from turnwise.transforms.formats.lending import NoConversation
from turnwise.transforms.formats.problems import checked, with_turns
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.formats.registry import record_place

_PLACES_SHOWN = 3


class LoggedConversation(NamedTuple):
    """A conversation and the record it was read from."""

    conversation: Conversation
    record: Record


def parse_record(
    reader: LogReader, record: Record, counts: Counter[str]
) -> Sequence[LoggedConversation | ConversationEvent | Failure]:
    """Returns what a log record holds; of several things in one record each has its own receipt."""
    counts["records"] += 1
    try:
        found = reader.read(record)
        if not found:
            raise ValueError("the record holds no conversation")
    except NoConversation as error:
        counts["parsed_records"] += 1
        return [record_failure("check", error, record)]
    except RAISED as error:
        counts["lost_records"] += 1
        return [record_failure("parse", error, record)]
    counts["parsed_records"] += 1
    parts: list[LoggedConversation | ConversationEvent | Failure] = []
    for part, one in enumerate(found):
        if isinstance(one, ConversationEvent):
            held = one.record if len(found) == 1 else _part_of(one.record, part, len(found))
            parts.append(one._replace(record=held))
            continue
        counts["conversations"] += 1
        own = record if len(found) == 1 else _part_of(record, part, len(found))
        if isinstance(one, ValueError):
            counts["lost_conversations"] += 1
            parts.append(record_failure("parse", one, own))
        else:
            parts.append(LoggedConversation(one, own))
    return parts


def parse_conversation(
    conversation: Conversation, record: Record, counts: Counter[str]
) -> LoggedConversation | Failure:
    """Returns a copy of a conversation that was not read from a record, if it can be scored."""
    counts["records"] += 1
    try:
        found = with_turns(checked(conversation))
        found.conversation_id = found.conversation_id or record_place(record)
    except RAISED as error:
        counts["lost_records"] += 1
        return record_failure("parse", error, record)
    counts["parsed_records"] += 1
    counts["conversations"] += 1
    return LoggedConversation(found, record)


def _part_of(record: Record, part: int, parts: int) -> Record:
    return record._replace(receipts=(Receipt(record.source, record.position, part, parts),))


def join_session(
    session_id: str, given: Sequence[ConversationEvent], counts: Counter[str]
) -> Sequence[LoggedConversation | Failure]:
    """Returns the conversation that all events of one session make, or a failure for each event."""
    counts["conversations"] += 1
    try:
        events = in_order(distinct(given))
        conversation = join_events(session_id, events)
        add_clashes(conversation, given, events)
    except RAISED as error:
        counts["lost_conversations"] += 1
        return [record_failure("parse", error, event.record, session_id) for event in given]
    counts["joined_entries"] += len(given)
    return [LoggedConversation(conversation, events[0].record)]


def parse_case(
    reader: CaseReader, record: Record, counts: Counter[str]
) -> Iterator[tuple[Record, EvalCase] | Failure]:
    """Yields the eval cases of a record, each with the record.

    Of the record's text each has what a failure keeps of it, and of a record of several cases its share.
    """
    cases: Sequence[EvalCase | BaseException]
    try:
        cases = reader.read(record)
    except RAISED as error:
        cases = [error]
    held = record._replace(data=record.data[: KEPT_RECORD_BYTES // max(1, len(cases))])
    for case in cases:
        if isinstance(case, BaseException):
            counts["lost_cases"] += 1
            yield record_failure("parse_case", case, record)
        else:
            counts["cases"] += 1
            yield held, case


def distinct_case(
    entries: Iterable[tuple[Record, EvalCase]], counts: Counter[str]
) -> tuple[EvalCase | None, list[Failure]]:
    """Returns the case of entries with one key, and the failures of those that do not count.

    Of equal ones the first counts. Of ones that differ none does: which is meant is unknown.
    """
    found = sorted(entries, key=lambda entry: entry[0][:2])
    first, case = found[0]
    if all(other == case for _, other in found):
        error = ValueError(f"{_named(case.key)} stands already at {first.source}:{first.position}")
        kept, repeated = case, found[1:]
    else:
        places = ", ".join(f"{record.source}:{record.position}" for record, _ in found[:_PLACES_SHOWN])
        more = ", ..." if len(found) > _PLACES_SHOWN else ""
        said = "stands several times and differs, so none counts"
        error = ValueError(f"{_named(case.key)} {said}: {places}{more}")
        kept, repeated = None, found
    counts["cases"] -= len(repeated)
    counts["lost_cases"] += len(repeated)
    return kept, [record_failure("parse_case", error, record) for record, _ in repeated]


def _named(key: CaseKey) -> str:
    return f"eval id {key.eval_id!r}" + (f" of the set {key.eval_set_id!r}" if key.eval_set_id else "")
