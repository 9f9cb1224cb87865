import json

import pytest
from msgspec.structs import replace

from tests.tables import stated
from turnwise.schemas.conversation import Receipt, Record
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import (
    AT_ONCE,
    FORGOTTEN_SECONDS,
    MAX_BYTES,
    MAX_EVENTS,
    MAX_KEPT,
    MAX_KEPT_BYTES,
    ClosedSession,
    Ignored,
    RejectedConversation,
    Session,
    SessionFullError,
    Sessions,
    closed_session,
    json_array,
    reopened,
)
from turnwise.transforms.formats.reading import LogReader

T = 1_000_000.0
GAP = 640.0
RULES = StreamRules(session_gap=GAP, allowed_lateness=10_000.0)
READER = LogReader()
LATE = "the event came after its conversation was forgotten"


def event(index, said="a", position=None, at=None, watermark=0.0, session="c", **fields):
    turn = {"user": "q", "agent": said}
    value = {"conversation_id": session, "turn_index": index, "turn": turn, **fields}
    value |= {} if at is None else {"event_time": at}
    place = index + 1 if position is None else position
    (found,) = READER.read(Record("log", place, json.dumps(value).encode()))
    return found._replace(watermark=watermark)


def add(kept, *events, at=T):
    return [kept.add(one, at, READER, RULES) for one in events]


def close(kept, now=T + 4 * GAP):
    """Closes what is due; returns (id, revision, what was said, positions that are settled)."""
    given_on = []
    for name, session in kept.take_due(now, RULES):
        conversation, record = kept.joined(name, session, RULES)
        said = [turn.agent for turn in conversation.turns]
        assert record.closing.revision == conversation.revision
        positions = [receipt.position for receipt in record.settles()]
        given_on.append((name, conversation.revision, said, positions))
    return given_on


@stated("closes", "events, closes_at")
def test_when_a_session_closes(events, closes_at):
    session = Session()
    for index, (time, watermark) in enumerate(events):
        session = session.add(event(index, watermark=watermark), time, RULES)
    assert session.closes_at == closes_at
    assert session.last_time == max(time for time, _ in events)


def test_a_session_that_is_opened_again_closes_at_the_gap_whatever_the_watermark():
    settled = Session(settled={"e": event(0)}, last_time=T)
    assert settled.add(event(1, watermark=T + 300), T, RULES).closes_at == T + GAP


def test_an_end_before_all_events_waits_for_them():
    end = READER.read(Record("log", 1, b'{"conversation_id": "c", "end": true}'))
    session = Session()
    for item in (*end, event(0)):
        session = session.add(item, T, RULES)
        assert session.is_ended and session.closes_at == T + GAP


def test_the_record_of_a_joined_conversation():
    kept = Sessions()
    events = [event(1, "b", 7), event(0, "a", 9)]
    add(kept, *events)
    ((name, session),) = kept.take_due(T + GAP, RULES)
    _, record = kept.joined(name, session, RULES)
    assert record[:2] == ("log", 9)
    assert json.loads(record.data) == [json.loads(one.record.data) for one in reversed(events)]
    assert set(record.receipts) == {Receipt("log", 7), Receipt("log", 9)}


def test_repetitions_are_bounded():
    session = Session().add(event(0), T, RULES)
    for position in range(MAX_EVENTS + 5):
        session = session.add(event(0, position=position + 10), T, RULES)
    (waiting,) = session.fresh.values()
    assert len(waiting.record.receipts) == MAX_EVENTS
    settled = Ignored((Receipt("log", 5000),))
    assert add(Sessions(open={"c": session}), event(0, position=5000)) == [(0, settled)]


def test_a_record_that_is_delivered_again_waits_with_its_conversation():
    assert add(Sessions(), *[event(0)] * 3) == [(1, None), (0, None), (0, None)]


def test_an_event_after_the_lateness_is_refused_and_the_rest_goes_on():
    kept = Sessions()
    add(kept, event(0))
    close(kept, T + GAP)
    late = T + GAP + RULES.allowed_lateness
    add(kept, event(0, session="other", watermark=late - 1))
    add(kept, event(1, "b"))
    assert [row[1] for row in close(kept, late - 1)] == [1]
    kept.take_due(late - 1 + RULES.allowed_lateness, RULES)
    ((held, refused),) = add(kept, event(2))
    assert (held, refused.error_type, refused.message) == (0, "LateEventError", LATE)
    assert (kept.closed, kept.closed_bytes, list(kept.forgotten)) == ({}, 0, ["c"])
    kept.take_due(late - 1 + RULES.allowed_lateness + FORGOTTEN_SECONDS, RULES)
    assert add(kept, event(2)) == [(1, None)]


def test_a_full_session_refuses_events_and_keeps_what_it_has():
    session = Session()
    for index in range(MAX_EVENTS):
        session = session.add(event(index, position=1), T, RULES)
    with pytest.raises(SessionFullError, match="the session is full: it has 2000 events"):
        session.add(event(9999), T, RULES)
    assert len(session.fresh) == MAX_EVENTS
    large = Session().add(event(0, "x" * (MAX_BYTES - 1000)), T, RULES)
    with pytest.raises(SessionFullError, match="full: it has 1 events"):
        large.add(event(1, "x" * 1000), T, RULES)


def test_closed_sessions_are_bounded():
    kept = Sessions()
    for number in range(3):
        add(kept, event(0, "x" * (MAX_KEPT_BYTES // 3), session=str(number), end=True))
        close(kept, T)
    assert (list(kept.closed), list(kept.forgotten)) == (["1", "2"], ["0"])
    assert kept.closed_bytes == sum(len(one.events) for one in kept.closed.values())
    ended = event(0, end=True)
    add(kept, *(ended._replace(session_id=f"r{number}") for number in range(MAX_KEPT + 5)))
    close(kept, T)
    assert len(kept.closed) == MAX_KEPT
    assert list(kept.forgotten) == ["0", "1", "2", *(f"r{number}" for number in range(5))]
    add(kept, *(ended._replace(session_id=f"s{number}") for number in range(MAX_KEPT)))
    close(kept, T)
    assert len(kept.forgotten) == MAX_KEPT


def after_restart(revision, *events, at=T, session="c"):
    """Returns the sessions of a process that begins, and what finds a session of the process before."""
    record = Session(settled={one.event_id: one for one in events}, revision=revision).record(session, at)
    found = {session: closed_session(record, is_rejected=False)}
    return Sessions(), found.get


@pytest.mark.parametrize("is_pruned", [False, True])
def test_an_event_after_a_restart_that_is_too_late(is_pruned):
    kept, earlier = after_restart(4, event(0), at=T)
    closed = replace(earlier("c"), events=b"") if is_pruned else earlier("c")
    now = 0.0 if is_pruned else T + RULES.allowed_lateness
    _, refused = kept.add(event(1, watermark=now), T, READER, RULES, lambda name: closed)
    assert (refused.message, kept.open) == (LATE, {})


def test_places_of_events_outlive_a_restart():
    kept, earlier = after_restart(0, event(0, position=7), event(1, 5, position=9))
    kept.add(event(2, "c", position=11), T, READER, RULES, earlier)
    ((name, session),) = kept.take_due(T + 4 * GAP, RULES)
    rejected = kept.joined(name, session, RULES)
    assert isinstance(rejected, RejectedConversation)
    assert json.loads(rejected.record.closing.places) == [["log", position] for position in (7, 9, 11)]
    # No conversation has this revision: the one that a later event completes does.
    assert (rejected.record.closing.revision, kept.closed[name].revision) == (1, 0)


def test_a_restored_session_that_is_damaged():
    damaged = ClosedSession(0, b'[{"conversation_id": "c", "turns": [{"user": "q"}]}]', T)
    _, refused = Sessions().add(event(0), T, READER, RULES, lambda name: damaged)
    assert "something that is no event" in refused.message


def test_raw_records_are_restored_to_the_byte():
    data = [
        b'{"conversation_id": "c",  "turn": {"user": "\\u00e9"}}',
        b'\n{"conversation_id":"c","end":true}\n',
    ]
    events = [event for i, text in enumerate(data) for event in READER.read(Record("log", i, text))]
    found = reopened(ClosedSession(0, json_array(events), T), READER).settled
    assert [one.record.data for one in found.values()] == [text.strip() for text in data]
    assert list(found) == [one.event_id for one in events]
    (odd,) = READER.read(
        Record("log", 1, b'{"conversation_id": "c", "event_id": "e", "turn": {"state": NaN}}')
    )
    assert next(iter(reopened(ClosedSession(0, json_array([odd, *events]), T), READER).settled)) == "e"


def test_a_key_is_visited_to_be_forgotten():
    kept = Sessions()
    add(kept, event(0))
    close(kept, T + GAP)
    late = T + GAP + RULES.allowed_lateness
    assert kept.next_visit(RULES) == late
    kept.take_due(late, RULES)
    assert kept.next_visit(RULES) == late + FORGOTTEN_SECONDS and kept.forgotten


def test_an_explicit_end_closes_at_once_also_what_comes_later():
    session = Session().add(event(0), T, RULES).add(event(1, end=True), T + 5, RULES)
    assert session.closes_at == AT_ONCE == session.add(event(2), T + 9, RULES).closes_at
    kept = Sessions()
    add(kept, event(0, "a"), event(3, "d", end=True))
    assert close(kept, T) == [("c", 0, ["a", "d"], [1, 4])]
    add(kept, event(1, "b"), event(2, "c"))
    assert close(kept, T) == [("c", 1, ["a", "b", "c", "d"], [2, 3])]
