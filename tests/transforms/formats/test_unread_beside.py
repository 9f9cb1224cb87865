"""What stands beside the known keys of a record, and may hold a call, leaves the calls unknown."""

import json
from typing import Any

import pytest

from turnwise.schemas.conversation import Record, Turn
from turnwise.transforms.formats.events import ConversationEvent, distinct, in_order, join_events
from turnwise.transforms.formats.reading import LogReader

CALL = {"name": "delete_account"}
CHAT_CALL = {"id": "1", "type": "function", "function": {"name": "delete_account", "arguments": "{}"}}
LOOK_UP = {"id": "2", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
USER = {"role": "user", "content": "q"}
DONE = {"role": "assistant", "content": "Done."}


def turns(*values: Any) -> list[Turn]:
    """Returns the turns of one conversation, given as its record or as its events."""
    read = [LogReader().read(Record("f", i, json.dumps(value).encode())) for i, value in enumerate(values)]
    found = [one for each in read for one in each]
    if isinstance(found[0], ConversationEvent):
        return join_events(found[0].session_id, in_order(distinct(found))).turns  # type: ignore[arg-type]
    (conversation,) = found
    return conversation.turns  # type: ignore[union-attr]


def entry(index: int = 1, **payload: Any) -> Any:
    said = {"diagnosticInfo": {"messages": [{"role": "agent", "chunks": [{"text": "Done."}]}]}}
    return {"labels": {"session_id": "s"}, "jsonPayload": {"turnIndex": index, **said, **payload}}


def ces(*chunks: Any, spans: Any = (), turn: Any = (), message: Any = (), **fields: Any) -> Any:
    root = {"name": "Turn", "childSpans": [{"name": "Tool", "attributes": {"name": n}} for n in spans]}
    said = [{"role": "agent", "chunks": [{"text": "Done."}, *chunks], **dict(message)}]
    return {
        "name": "projects/p/apps/a/conversations/c",
        "turns": [{"messages": said, "rootSpan": root, **dict(turn)}],
        **fields,
    }


def ces_call(name: str) -> Any:
    return {"toolCall": {"tool": f"projects/p/tools/{name}", "args": {}, "displayName": name.title()}}


def adk(user: Any = None, event: Any = (), **fields: Any) -> Any:
    events = [
        {"author": "user", "invocation_id": "i", "content": {"parts": [user or {"text": "q"}]}},
        {"author": "a", "invocation_id": "i", "content": {"parts": [{"text": "Done."}]}, **dict(event)},
    ]
    return {"id": "s", "app_name": "x", "user_id": "u", "events": events, **fields}


def adk_event() -> Any:
    return {"session_id": "s", "event": adk()["events"][1]}


def canonical(*, record: Any = (), **fields: Any) -> Any:
    return {"conversation_id": "c", "turns": [{"user": "q", "agent": "a", **fields}], **dict(record)}


def event(*, envelope: Any = (), **fields: Any) -> Any:
    turn = {"user": "q", "agent": "a", **fields}
    return {"conversation_id": "c", "turn_index": 0, "turn": turn, **dict(envelope)}


def chat(*messages: Any, **record: Any) -> Any:
    return {"messages": [USER, *(messages or (DONE,))], **record}


def agent(**fields: Any) -> Any:
    return {"role": "assistant", "content": "Done.", **fields}


def parts(*content: Any) -> Any:
    return {"role": "assistant", "content": [{"type": "text", "text": "Done."}, *content]}


NAMES = (
    *("steps", "messages", "events", "parts", "content", "trace", "commands", "handoffs", "tool_outputs"),
    *("intermediate_steps", "tools_used", "actions_taken", "something_else"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("held", [[CALL], {"call": CALL}, json.dumps([CALL])])
def test_no_name_of_a_turns_key_hides_calls(name: str, held: Any) -> None:
    for value in (canonical(**{name: held}), event(**{name: held}), chat(agent(**{"x_" + name: held}))):
        (turn,) = turns(value)
        assert turn.unknown_calls is not None
        assert name in turn.findings[0].message


@pytest.mark.parametrize(
    "value",
    [
        entry(toolCalls={"toolCalls": [{"displayName": "delete_account"}]}),
        {**entry(), "outputs": [CALL]},
        ces(turn={"steps": [CALL]}),
        ces(mcpCalls=[CALL]),
        ces(ces_call("get_x"), spans=("delete_account",)),
        chat(response={"choices": [{"message": {"tool_calls": [CHAT_CALL]}}]}),
        chat(output=[CALL]),
        chat(tool_calls=[CHAT_CALL]),
        chat(traj=[USER, agent(tool_calls=[CHAT_CALL])]),
        chat(metadata={"tool_calls": [CHAT_CALL]}),
        chat(agent(parts={"call": CALL})),
        chat(agent(tool_calls=[LOOK_UP], additional_kwargs={"tool_calls": [CHAT_CALL]})),
        chat({"role": "developer", "content": [{"type": "hologram", **CALL}]}, DONE),
        chat(parts({"type": "thinking", "thinking": "hm", "tool_use": CALL})),
        chat(parts({"type": "file_delete", "path": "x"})),
        chat(parts({"type": "image_generation", "prompt": "x"})),
        canonical(record={"tool_calls": [CALL]}),
        canonical(record={"steps": [CALL]}),
        event(envelope={"steps": [CALL]}),
        event(envelope={"turns": [{"agent": "b", "tool_calls": [CALL]}], "turn": {"agent": "a"}}),
        adk(event={"steps": [CALL]}),
        adk(event={"actions": {"toolCalls": [CALL]}}),
        adk(user={"functionCall": {"name": "delete_account", "args": {}}}),
        adk(toolCalls=[CALL]),
    ],
)
def test_what_is_beside_the_known_keys_leaves_the_calls_unknown(value: Any) -> None:
    found = turns(value)
    assert all(turn.unknown_calls for turn in found)
    assert found[0].findings


def test_what_is_beside_the_turns_is_unknown_of_every_turn() -> None:
    value = canonical(record={"steps": [CALL], "turns": [{"agent": "a"}, {"agent": "b"}]})
    assert [bool(turn.unknown_calls) for turn in turns(value)] == [True, True]
    assert [len(turn.findings) for turn in turns(value)] == [1, 0]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"delete_account","arguments":{}}</tool_call>',
        '<tool_response>{"ok":true}</tool_response>',
        '[TOOL_CALLS] [{"name": "delete_account"}]',
        '<function=delete_account>{"a": 1}</function>',
        "<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "```tool_code\ndelete_account()\n```",
        '[{"type":"tool_use","id":"1","name":"delete_account","input":{}}]',
        '{"name": "delete_account", "arguments": {}}',
    ],
)
def test_calls_that_are_spelt_in_a_text_are_not_read_as_none(text: str) -> None:
    records = (
        chat(agent(content=text)),
        canonical(agent=text),
        canonical(user=text),
        event(agent=text),
        ces({"text": text}) if not text.startswith(("{", "[{", " [")) else canonical(agent=text),
        adk(event={"content": {"parts": [{"text": text}]}}),
    )
    for value in records:
        (turn,) = turns(value)
        assert turn.unknown_calls is not None
        assert "spells" in turn.findings[-1].message


@pytest.mark.parametrize(
    "value",
    [
        entry(turnCompleted=True, citations={"citedChunks": [{"uri": "x"}]}),
        entry(
            toolCalls={"toolCalls": [{"displayName": "look_up"}]},
            diagnosticInfo={"messages": [{"role": "agent", "chunks": [ces_call("look_up")]}]},
        ),
        ces(ces_call("get_x"), spans=("Get_X",)),
        ces(ces_call("get_x"), ces_call("get_y"), spans=("get_y",)),
        chat(model="m", response_format={"type": "x"}, metadata={"user": {"id": 1}}, seed=3, cost=0.5),
        chat(agent(annotations=[{"url": "x"}], logprobs={"content": [1]}, turn_idx=3, steps=[], note="fine")),
        chat(agent(function_call=CHAT_CALL["function"], tool_calls=[CHAT_CALL]), {**DONE, "steps": 4}),
        chat(parts({"type": "text", "text": "x", "annotations": [{}], "cache_control": {"type": "e"}})),
        chat(agent(content="[1] and <b>fine</b>, <i>tools</i>"), mode="x"),
        canonical(agents=["a"], mood="good", steps=3, metadata={"a": [1]}),
        adk(
            event={"actions": {"artifactDelta": {"a": 1}, "stateDelta": {"b": 1}}, "customMetadata": {"a": 1}}
        ),
        adk(lastUpdateTime=1.5),
    ],
)
def test_what_holds_no_calls_is_no_finding(value: Any) -> None:
    for turn in turns(value):
        assert (turn.unknown_calls, turn.unknown_words, turn.findings) == (None, None, [])


def test_both_kinds_of_calls_of_one_message_count() -> None:
    (turn,) = turns(chat(agent(tool_calls=[LOOK_UP], function_call=CHAT_CALL["function"])))
    assert [call.name for call in turn.tool_calls] == ["look_up", "delete_account"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([entry(2)], "has turn 2 where turn 1 should open"),
        ([entry(1), entry(4)], "has turn 4 after turn 1"),
        ([event(), event(envelope={"turn_index": 2})], "has turn 2 after turn 0"),
        ([event(), {"conversation_id": "c", "turn_index": 1, "end": True}], "an event names turn 1"),
        ([event(), {"conversation_id": "c", "turn_index": 1, "trun": {"agent": "b"}}], "'trun'"),
        ([event(), {"conversation_id": "c", "turn": "garbage"}], "turn: a JSON object is needed"),
        ([event(), event(envelope={"turn_index": "x"})], "'x' is no number"),
        ([adk_event(), {"session_id": "s", "event": "garbage"}], "event: a JSON object is needed"),
        ([entry("x")], "no number of a turn"),
        ([canonical(turn_index=5)], "has turn 5 where turn 0 should open"),
        ([canonical(record={"turns": [{"turn_index": i, "agent": "a"} for i in (0, 5)]})], "5 after turn 0"),
    ],
)
def test_a_turn_that_the_log_skips_is_a_finding(values: Any, said: str) -> None:
    found = turns(*values)
    assert [turn.turn_index for turn in found] == list(range(len(found)))
    assert (bool(found[-1].unknown_calls), bool(found[-1].unknown_words)) == (True, True)
    assert said in " ".join(problem.message for turn in found for problem in turn.findings)


def test_numbers_without_a_leap_are_no_finding() -> None:
    both = canonical(record={"turns": [{"turn_index": i, "agent": "a"} for i in (0, 1)]})
    for found in (turns(entry(1), entry(2)), turns(both)):
        assert [turn.findings for turn in found] == [[], []]
