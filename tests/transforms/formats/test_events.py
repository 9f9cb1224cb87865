import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.tables import rows_test
from turnwise.schemas.conversation import Conversation, Receipt, Record, Turn
from turnwise.transforms.formats import events as joining
from turnwise.transforms.formats.reading import LogReader

SAMPLES = Path(__file__).parents[3] / "pipeline/sample_data/conversations"
T = 1_767_323_045.0


def encoded(value):
    return json.dumps(value).encode()


def read(value, position=1, hint="auto"):
    (found,) = LogReader(hint).read(Record("log.jsonl", position, encoded(value)))
    assert isinstance(found, joining.ConversationEvent)
    return found


def turn(index=None, said="a", at=None, **fields):
    value = {"conversation_id": "c", "turn": {"user": "q", "agent": said}, **fields}
    value |= {} if index is None else {"turn_index": index}
    return value | ({} if at is None else {"event_time": at})


def entry(index, text, **fields):
    payload = {"text": text, "turnIndex": index, **fields.pop("payload", {})}
    return {"labels": {"session_id": "s"}, "jsonPayload": payload, **fields}


def adk(author, said, at=None, session="s", invocation="i1", **fields):
    event = {"author": author, "content": {"parts": [{"text": said}]}, "invocation_id": invocation}
    return {"session_id": session, "event": event | ({} if at is None else {"timestamp": at}), **fields}


test_rows = rows_test(globals(), "events")


def tells(value, wanted):
    event = read(value)
    told = [event.session_id, event.turn_index, event.event_time, event.event_id, event.is_end, event.kind]
    assert told == wanted
    assert joining.may_hold_events(wanted[-1])


def test_an_event_without_an_id_is_known_by_its_text():
    ids = {read(value).event_id for value in (turn(1), turn(1), turn(2), entry(1, "a"))}
    assert len(ids) == 3
    spaced = joining.read_event("turn_event", turn(1), Record("other", 9, b" " + encoded(turn(1)) + b"\n"))
    assert spaced.event_id == read(turn(1)).event_id


def refused(value, hint, message):
    with pytest.raises(ValueError, match=message):
        read(value, hint=hint)


def test_an_event_that_mentions_turns_is_no_whole_conversation():
    value = {"conversation_id": "c", "turn": {"tool_calls": [{"name": "f", "args": {"turns": []}}]}}
    assert read(value).kind == "turn_event"
    assert read({"conversation_id": "c", "end": True, "meta": {"turns": 5}}).is_end
    (whole,) = LogReader().read(Record("f", 1, encoded({"conversation_id": "c", "turns": [{"user": "q"}]})))
    assert whole == Conversation(conversation_id="c", turns=[Turn(user="q")])


def joined(*values):
    events = [read(value, position) for position, value in enumerate(values, 1)]
    return joining.join_events(events[0].session_id, joining.in_order(joining.distinct(events)))


def said(conversation):
    return [turn.agent for turn in conversation.turns]


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("name", ["ko_child_seat", "de_umzug_nach_freiburg"])
def test_adk_events_make_the_stored_session(name, is_flat):
    session = json.loads((SAMPLES / f"{name}.session.json").read_text())
    shared = {"app_name": session["app_name"], "user_id": session["user_id"], "session_id": session["id"]}
    if is_flat:
        values = [{**event, **shared} for event in session["events"]]
    else:
        values = [{**shared, "event": event} for event in session["events"]]
    values[0] = {**values[0], "state": session["state"]}
    assert [joined(*reversed(values))] == turnwise.read_conversations(session)


TIMES = st.none() | st.integers(0, 3).map(lambda seconds: T + seconds)
TURNS = st.builds(turn, st.none() | st.integers(0, 4), st.sampled_from("abc"), TIMES)
ENTRIES = st.builds(
    lambda index, text, at: entry(index, text, **({} if at is None else {"timestamp": at})),
    st.integers(0, 3),
    st.sampled_from("abc"),
    TIMES,
)
ADK = st.builds(adk, st.sampled_from(["user", "root"]), st.sampled_from("abc"), TIMES)


@given(st.data(), st.one_of(*(st.lists(kind, min_size=1, max_size=8) for kind in (TURNS, ENTRIES, ADK))))
def test_any_order_and_any_repetition_gives_the_same_conversation(data, values):
    events = [read(value, position) for position, value in enumerate(values, 1)]
    wanted = joining.join_events("c", joining.in_order(joining.distinct(events)))
    repeated = events + data.draw(st.lists(st.sampled_from(events), max_size=4))
    shuffled = data.draw(st.permutations(repeated))
    assert joining.join_events("c", joining.in_order(joining.distinct(shuffled))) == wanted


def clash(second, is_finding):
    """Different events with one id are a finding."""
    first = {"conversation_id": "c", "turn_index": 0, "event_id": "e", "turn": {"user": "q", "agent": "a"}}
    given = [read(value, position) for position, value in enumerate([first, {**first, **second}], 1)]
    kept = joining.in_order(joining.distinct(given))
    conversation = joining.join_events("c", kept)
    joining.add_clashes(conversation, given, kept)
    (only,) = conversation.turns
    assert (bool(only.unknown_calls), bool(only.unknown_words)) == (is_finding, is_finding)
    assert ["several different events have the id 'e'" in p.message for p in only.findings] == [
        True
    ] * is_finding


def test_events_of_one_record_stay_in_its_order_when_they_come_in_another():
    record = Record("rows.json", 1, b"{}")
    events = [
        read({"conversation_id": "c", "event_id": f"{part}", "turn": {"user": "q"}}, 1)._replace(
            record=record._replace(receipts=(Receipt("rows.json", 1, part, 3),))
        )
        for part in range(3)
    ]
    for order in (events, events[::-1]):
        assert joining.in_order(joining.distinct(order)) == events
