"""Records of any form, by the mapping of the config."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from turnwise.schemas.config import ConfigError

GET = {"fn": "get", "params": '{"a": 1}'}
CALL = {
    "call": {"id": "c-7"},
    "release": 3,
    "lines": [
        {
            "who": "caller",
            "asked": "Where is A-17?",
            "said": "Shipped.",
            "did": [{"fn": "get", "params": '{"a": 1}'}],
        },
        {"asked": "Thanks", "said": "Bye."},
    ],
    "labels": ["vip"],
}
TURNS = {
    "conversation_id": "call.id",
    "app_version": "release",
    "tags": "labels",
    "turns": "lines[*].{user: asked, agent: said, tool_calls: did[*].{name: fn, args: params}}",
}
ROWS = [
    {"chat": "a", "n": 2, "from": "bot", "text": "Hello", "v": "v1"},
    {"chat": "b", "n": 1, "from": "human", "text": "Hey", "v": "v1"},
    {"chat": "a", "n": 1, "from": "human", "text": "Hi", "v": "v1"},
    {"chat": "b", "n": 2, "from": "bot", "text": "Yes?", "v": "v2"},
]
MESSAGE = "{role: from == 'human' && 'user' || 'assistant', content: text}"
PARTS = {"conversation_id": "chat", "order": "n", "message": MESSAGE, "app_version": "v"}


def read(logs, mapping, **options):
    return turnwise.read_conversations(logs, config={"mapping": mapping}, **options)


def test_a_record_is_a_conversation():
    [found] = read([CALL], TURNS)
    assert (found.conversation_id, found.app_version, found.tags, found.source) == (
        "c-7",
        "3",
        ["vip"],
        "mapping",
    )
    assert [(turn.user, turn.agent) for turn in found.turns] == [
        ("Where is A-17?", "Shipped."),
        ("Thanks", "Bye."),
    ]
    assert [(call.name, call.args) for call in found.turns[0].tool_calls] == [("get", {"a": 1})]


def test_keys_that_may_hold_calls_leave_calls_unknown_where_the_mapping_names_none():
    words = "lines[*].{user: asked, agent: said}"
    [found] = read([CALL], {**TURNS, "turns": words})
    (finding,) = found.turns[0].findings
    assert finding.kind == "UnreadPart" and "'lines[].did'" in finding.message
    assert all(turn.unknown_calls and turn.unknown_words is None for turn in found.turns)
    for sure in (TURNS["turns"], words.replace("agent: said", "agent: said, tool_calls: `[]`")):
        [found] = read([CALL], {**TURNS, "turns": sure})
        assert [turn.findings for turn in found.turns] == [[], []]
    rows = [{**row, "steps": [GET]} for row in ROWS]
    assert all(each.turns[0].unknown_calls for each in read(rows, PARTS))
    silent = {**PARTS, "message": MESSAGE.replace("content", "tool_calls: `[]`, content")}
    assert not any(turn.unknown_calls for each in read(rows, silent) for turn in each.turns)


def test_rows_that_belong_together_are_joined_in_their_order():
    found = {one.conversation_id: one for one in read(ROWS, PARTS)}
    assert [(t.user, t.agent) for t in found["a"].turns] == [("Hi", "Hello")]
    assert [(t.user, t.agent) for t in found["b"].turns] == [("Hey", "Yes?")]
    assert (found["a"].app_version, found["b"].app_version) == ("v1", "v2")


SAID = [
    ("s1", "user", "Hi"),
    ("s1", "assistant", "Hello"),
    ("s2", "user", "Hey"),
    ("s2", "assistant", "Yes?"),
]
TALK = [{"desk": chat, "role": role, "text": text} for chat, role, text in SAID]
OF_TALK = {"conversation_id": "desk", "message": "{role: role, content: text}"}
IN_ROWS = {"turns": "[{user: text, agent: role}]", "conversation_id": "join('', [desk, text])"}


@pytest.mark.parametrize(
    ("rows", "mapping", "options", "ids"),
    [
        (TALK, OF_TALK, {}, ["s1", "s2"]),
        (TALK, OF_TALK, {"input_format": "mapping"}, ["s1", "s2"]),
        (TALK, {**OF_TALK, "when": "`true`"}, {}, ["s1", "s2"]),
        (TALK[:2], {**IN_ROWS, "when": "desk"}, {}, ["s1Hi", "s1Hello"]),
        ([{"role": "user", "content": "Hi"}], OF_TALK, {}, ["conversations:1"]),
        ([{"role": "user", "content": "Hi"}], OF_TALK, {"input_format": "openai_chat"}, ["conversations:1"]),
    ],
)
def test_a_mapping_of_rows_goes_before_a_list_of_messages(rows, mapping, options, ids):
    found = read(rows, mapping, **options)
    assert [one.conversation_id for one in found] == ids
    assert {one.source for one in found} == {"openai_chat" if ids == ["conversations:1"] else "mapping"}


def test_equal_rows_of_one_array_are_several_messages():
    found = read(TALK[:2] * 2, OF_TALK)
    assert [[(t.user, t.agent) for t in one.turns] for one in found] == [[("Hi", "Hello")] * 2]


def test_rows_of_one_array_stay_in_their_order_and_a_row_without_an_id_is_a_failure():
    failures = []
    found = read([*TALK, {"role": "user", "text": "Rejected"}], OF_TALK, on_failure=failures.append)
    assert [[(t.user, t.agent) for t in one.turns] for one in found] == [[("Hi", "Hello")], [("Hey", "Yes?")]]
    assert [each["message"] for each in failures] == [
        "row 5: the mapping: desk finds no id of the conversation"
    ]


@pytest.mark.parametrize(
    "orders",
    [
        range(1, 13),
        ["-1", 0, "0.5", 1.5, " 2", "10", "1e2"],
        ["20260101000000000000001", "20260101000000000000002", "20260101000000000000010"],
        ["a1", "a10", "a2"],
        ["1", "10", "9", "b"],
    ],
)
def test_orders_are_compared_as_numbers_if_all_of_a_conversation_are(orders):
    rows = [{"chat": "a", "n": n, "from": "human", "text": f"{place}"} for place, n in enumerate(orders)]
    for order in (rows, rows[::-1]):
        [found] = read(order, PARTS)
        assert [turn.user for turn in found.turns] == [row["text"] for row in rows]


def test_rows_that_are_turns():
    rows = [{"chat": "a", "q": "One", "a": "1"}, {"chat": "a", "q": "Two", "a": "2", "error": "timeout"}]
    [found] = read(rows, {"conversation_id": "chat", "turn": "{user: q, agent: a}", "ended": "error"})
    assert [(t.turn_index, t.user, t.agent) for t in found.turns] == [(0, "One", "1"), (1, "Two", "2")]
    assert found.ended == "limit"


def test_messages_of_any_known_form():
    record = {"key": "k", "log": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "1", "name": "f", "input": {}}]}]}  # fmt: skip
    [found] = read([record], {"conversation_id": "key", "messages": "log"})
    assert [call.name for call in found.turns[0].tool_calls] == ["f"]


def test_known_formats_are_read_as_before_unless_the_mapping_is_meant_for_them():
    chat = {"id": "x", "kind": "odd", "messages": [{"role": "user", "content": "Hi"}], "lines": CALL["lines"]}
    assert [one.source for one in read([chat, CALL], TURNS)] == ["openai_chat", "mapping"]
    assert [one.source for one in read([chat], {**TURNS, "when": "kind == 'odd'"})] == ["mapping"]
    failures = []
    assert read([{"kind": "even"}], {**TURNS, "when": "kind == 'odd'"}, on_failure=failures.append) == []
    assert "unrecognised record" in failures[0]["message"]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"turns": "lines[*"}, "is no JMESPath expression"),
        ({"turns": "nosuch(lines)"}, r"no JMESPath expression: there is no function nosuch\(\)"),
        ({"turns": "lines", "tags": "join(',')"}, r"join\(\) takes 2 arguments, not 1"),
        ({"turns": "lines[::0]"}, "the step of a slice is 0"),
        ("turns", "mapping: a JSON object is needed, not str"),
        ({"conversation_id": "id"}, "exactly one of turns, messages, turn and message"),
        ({"turn": "@"}, "turn needs conversation_id"),
        ({"turns": "a", "conversation": "b"}, "mapping.conversation: unknown field"),
    ],
)
def test_a_bad_mapping_ends_before_anything_is_read(mapping, message):
    with pytest.raises((ConfigError, ValueError), match=message):
        read([CALL], mapping)


@pytest.mark.parametrize(
    ("mapping", "record", "message"),
    [
        (TURNS, {"call": {"id": "x"}}, "finds no array in the record"),
        ({"turns": "lines"}, {"lines": [7]}, "turns.0: a JSON object is needed"),
        (TURNS, {"lines": [{"asked": 7}]}, "user: Expected `str"),
        (PARTS, {"n": 1}, "chat finds no id of the conversation"),
        ({**PARTS, "message": "inner"}, ROWS[0], "inner finds no object"),
    ],
)
def test_a_record_that_does_not_fit_is_a_failure_that_says_why(mapping, record, message):
    failures = []
    assert read([record], mapping, on_failure=failures.append) == []
    assert message in failures[0]["message"]


def line(**more):
    return [{"key": "k", "lines": [{"asked": "Hi", "said": "Yo", **more}]}]


def plain(*more):
    said = [{"from": "human", "text": "Hi"}, {"from": "bot", "text": "Yo"}]
    return [{"key": "k", "log": [*said, *more]}]


NAMED = "lines[*].{user: asked, agent: said, tool_calls: did[*].{name: fn, args: params}}"
NONE = "lines[*].{user: asked, agent: said, tool_calls: `[]`}"
SPOKEN = "log[*].{role: from == 'human' && 'user' || 'assistant', content: text}"
CALLED = SPOKEN.replace("content", "tool_calls: acts[*].{name: fn, args: params}, content")
ROW = "{user: asked, agent: said}"


@pytest.mark.parametrize(
    ("records", "mapping", "said"),
    [
        (line(did=[GET]), {"turns": "lines[*].{user: asked, agent: said}"}, "does not read 'lines[].did'"),
        (line(), {"turns": "lines[*].{user: asked, agent: said}"}, "names no tool_calls"),
        (line(), {"turns": NONE}, None),
        (line(error="timeout"), {"turns": NONE}, "'lines[].error'; it may hold calls, results or"),
        (line(error=None, did=[GET]), {"turns": NONE}, None),
        (line(about={"last_error": {"a": 1}}), {"turns": NONE}, "does not read 'lines[].about.last_error'"),
        (line(error="timeout"), {"turns": NONE, "ignored": "lines[*].error"}, None),
        
        (line(did=[GET], debug=[{"a": 1}]), {"turns": NAMED, "ignored": "lines[*].debug"}, None),
        (line(did=[GET]), {"turns": NAMED}, None),
        
        (line(done=[GET]), {"turns": NAMED}, "does not read 'lines[].done'"),
        
        (line(did=[{"fn": "get", "params": "x", "sub": [GET]}]), {"turns": NAMED}, "'lines[].did[].sub'"),
        (line(trace='[{"fn": "get"}]'), {"turns": NAMED}, "does not read 'lines[].trace'"),
        (line(did=[GET], debug={"a": [1]}), {"turns": NAMED}, "does not read 'lines[].debug'"),
        (line(note="x", cost=3, metadata={"a": {"b": 1}}), {"turns": NAMED}, None),
        (line(did=[GET]), {"turns": NAMED, "labels": "{n: length(lines[0].did)}"}, None),
        
        ([{"k": 1, "lines": [{"user": "Hi", "agent": "Yo"}]}], {"turns": "lines"}, "names no tool_calls"),
        ([{**line()[0], "acts": [GET]}], {"turns": NAMED}, "does not read 'acts'"),
        ([{**line()[0], "acts": [GET]}], {"turns": NAMED, "state": "{acts: acts}"}, None),
        
        (plain(), {"messages": SPOKEN}, "names no tool_calls"),
        
        (plain({"from": "bot", "text": "x", "did": [GET]}), {"messages": CALLED}, "read 'log[].did'"),
        (plain({"from": "bot", "did": [GET]}), {"messages": CALLED.replace("[*]", "[?text]")}, "'log[]"),
        ([line()[0]["lines"][0] | {"key": "k"}], {"turn": ROW, "conversation_id": "key"}, "no tool_calls"),
        ([line(did=[GET])[0]["lines"][0] | {"key": "k"}], {"turn": ROW, "conversation_id": "key"}, "'did'"),
    ],
)  # fmt: skip
def test_calls_that_a_mapping_does_not_name_are_unknown(records, mapping, said):
    [found] = read(records, mapping)
    assert all((turn.unknown_calls is not None) == (said is not None) for turn in found.turns)
    messages = " ".join(finding.message for finding in found.turns[0].findings)
    assert (said or "") in messages and bool(messages) == bool(said)


def test_what_the_mapping_leaves_out_does_not_pass():
    config = {"criteria": {"tool_call_count_v1": 3}, "mapping": {"turns": NAMED.replace("did", "acts")}}
    results = turnwise.evaluate(line(did=[GET]), config=config)
    assert results.results[0].get("evaluationStatus") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcn"), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["chat", "n", "from", "text", "lines", "call"]), JSON), st.booleans())
def test_no_value_crashes_the_mapping(record, is_part):
    failures = []
    found = read([record], PARTS if is_part else TURNS, on_failure=failures.append)
    assert len(found) + len(failures) == 1
