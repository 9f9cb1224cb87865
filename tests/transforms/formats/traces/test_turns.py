"""Which spans make a turn, in small conversations: continued, resumed and stateless ones, with spans missing."""
# ruff: noqa: E501

import json
from typing import Any

import pytest

from turnwise.schemas.conversation import Conversation, Turn
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

S = 1_000_000_000
T0 = 1_760_000_000
Messages = list[dict[str, Any]]


def text(role: str, said: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": said}]}


def asks(id_: str, name: str) -> dict[str, Any]:
    call = {"type": "tool_call", "id": id_, "name": name, "arguments": {"a": 1}}
    return {"role": "assistant", "parts": [call]}


def told(id_: str) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id_, "response": "found"}]}


def span(trace: str, own: str, parent: str, at: int, length: int, kind: str, **held: Any) -> TraceSpan:
    keys = {key.replace("__", "."): value for key, value in held.items()}
    attributes = {"gen_ai.operation.name": kind, **keys}
    return TraceSpan(
        trace, trace + own, parent and trace + parent, kind, (T0 + at) * S, (T0 + at + length) * S, attributes
    )


def agent(trace: str, at: int, own: str = "a", parent: str = "", **held: Any) -> TraceSpan:
    return span(trace, own, parent, at, 9, "invoke_agent", **held)


def chat(
    trace: str, own: str, at: int, given: Messages | None, said: dict[str, Any] | None, parent: str = "a"
) -> TraceSpan:
    held = {"gen_ai__input__messages": given, "gen_ai__output__messages": said and [said]}
    shown = {key: json.dumps(value) for key, value in held.items() if value is not None}
    return span(trace, own, parent, at, 1, "chat", **shown)


def tool(trace: str, own: str, at: int, name: str, id_: str, parent: str = "a") -> TraceSpan:
    held = {"gen_ai__tool__name": name, "gen_ai__tool__call__id": id_, "gen_ai__tool__call__result": "found"}
    return span(trace, own, parent, at, 1, "execute_tool", gen_ai__tool__call__arguments='{"a": 1}', **held)


def joined(spans: list[TraceSpan]) -> Conversation:
    return join_spans("c", spans)


def chain(
    trace: str, own: str, at: int, parent: str, given: Messages | str, said: Messages | str
) -> TraceSpan:
    held = {
        "input.value": given if isinstance(given, str) else json.dumps(given),
        "output.value": said if isinstance(said, str) else json.dumps(said),
    }
    attributes: dict[str, Any] = {"openinference.span.kind": "CHAIN", **held}
    return TraceSpan(
        trace, trace + own, parent and trace + parent, "step", (T0 + at) * S, (T0 + at + 9) * S, attributes
    )


def read(turn: Turn) -> tuple[str | None, list[str | None], str | None]:
    return turn.user, [call.name for call in turn.tool_calls], turn.agent


SYSTEM = text("system", "Be brief.")
FIRST = [SYSTEM, text("user", "q1")]
SECOND = [*FIRST, text("assistant", "a1"), text("user", "q2")]
TURN_1 = [agent("1", 0), chat("1", "b", 1, FIRST, text("assistant", "a1"))]
RESULTS = [*SECOND, asks("y", "g"), told("y")]
LAST = chat("2", "d", 25, RESULTS, text("assistant", "a2"))
FETCHED = [asks("p1", "search"), told("p1")]
FETCHED_2 = [text("user", "q2"), asks("p2", "search"), told("p2")]
CALLED = [*FIRST, asks("x", "f"), told("x")]
WITH_CALL = [*CALLED, text("assistant", "a1")]
NEXT = [*WITH_CALL, text("user", "q2")]
ONE_CALL = ("q1", ["f"], "a1")
ONE, TWO = ("q1", [], "a1"), ("q2", ["g"], "a2")

TURNS = {
    "the first call of a turn is lost": (
        [*TURN_1, agent("2", 20), tool("2", "c", 22, "g", "y"), LAST], [ONE, TWO]),
    "the first call of a turn has no content": (
        [*TURN_1, agent("2", 20), chat("2", "b", 21, None, None), tool("2", "c", 22, "g", "y"), LAST], [ONE, TWO]),
    "every input ends in a fetched result": (
        [agent("1", 0), chat("1", "b", 1, [*FIRST, *FETCHED], text("assistant", "a1")),
         agent("2", 20), chat("2", "b", 21, [*FIRST, *FETCHED, text("assistant", "a1"), *FETCHED_2],
                              text("assistant", "a2"))],
        [("q1", ["search"], "a1"), ("q2", ["search"], "a2")]),
    "every input ends in a fetched result, without history": (
        [agent("1", 0), chat("1", "b", 1, [*FIRST, *FETCHED], text("assistant", "a1")),
         agent("2", 20), chat("2", "b", 21, [SYSTEM, *FETCHED_2], text("assistant", "a2"))],
        [("q1", ["search"], "a1"), ("q2", ["search"], "a2")]),
    "the application calls the tools, a trace a model call": (
        [chat("1", "b", 1, FIRST, asks("x", "f"), ""),
         chat("2", "b", 5, [*FIRST, asks("x", "f"), told("x")], text("assistant", "a1"), "")],
        [("q1", ["f"], "a1")]),
    "the application calls the tools, and the history is a window": (
        [chat("1", "b", 1, SECOND, asks("x", "f"), ""),
         chat("2", "b", 5, [SYSTEM, text("user", "q2"), asks("x", "f"), told("x")], text("assistant", "a2"), "")],
        [("q2", ["f"], "a2")]),
    "a run is resumed, and its agent states all messages": (
        [agent("1", 0, **{"pydantic_ai.all_messages": json.dumps(CALLED[:-1])}), chat("1", "b", 1, FIRST, asks("x", "f")),
         agent("2", 20, **{"pydantic_ai.all_messages": json.dumps(WITH_CALL)}), tool("2", "c", 21, "f", "x"),
         chat("2", "d", 23, CALLED, text("assistant", "a1"))],
        [ONE_CALL]),
    "a run is resumed by a command": (
        [chain("1", "a", 0, "", FIRST, FIRST), chat("1", "b", 1, FIRST, asks("x", "f")),
         chain("2", "a", 20, "", "Command(resume=True)", WITH_CALL), tool("2", "c", 21, "f", "x"),
         chat("2", "d", 23, CALLED, text("assistant", "a1"))],
        [ONE_CALL]),
    "model calls without history, of an agent that does not state what it was asked": (
        [agent("1", 0), chat("1", "b", 1, FIRST, text("assistant", "a1")),
         chat("1", "c", 3, [SYSTEM, text("user", "q2")], text("assistant", "a2"))],
        [("q1", [], "a1"), ("q2", [], "a2")]),
    "the parent of the first call is lost": (
        [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "f"), "lost"), tool("1", "c", 2, "f", "x"),
         chat("1", "d", 4, CALLED, text("assistant", "a1"))],
        [("q1", ["f"], "a1")]),
    "the parent of a router is lost, and all calls of models": (
        [chain("1", "a", 0, "", FIRST, WITH_CALL), chat("1", "b", 1, FIRST, asks("x", "f")),
         tool("1", "c", 2, "f", "x"), chat("1", "d", 4, CALLED, text("assistant", "a1")),
         chain("2", "a", 20, "", NEXT, [*NEXT, asks("y", "g"), told("y"), text("assistant", "a2")]),
         chain("2", "b", 21, "lost", [*NEXT, asks("y", "g")], "tools"), tool("2", "c", 22, "g", "y")],
        [("q1", ["f"], "a1"), TWO]),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNS)
def test_turns_are_read_as_a_person_reads_them(name: str) -> None:
    spans, expected = TURNS[name]
    for order in (spans, spans[::-1]):
        assert [read(turn) for turn in joined(order).turns] == expected


def test_spans_below_the_root_for_want_of_their_parents_are_a_finding() -> None:
    (turn,) = joined(TURNS["the parent of the first call is lost"][0]).turns
    assert [finding.kind for finding in turn.findings] == ["MissingParent"]


def test_the_wait_between_two_traces_is_no_latency() -> None:
    spans = [
        *(chat("1", "b", 1, FIRST, asks("x", "f")), agent("1", 0)),
        *(chat("2", "b", 51, CALLED, text("assistant", "a1")), agent("2", 50)),
    ]
    (turn,) = joined(spans).turns
    assert (turn.latency_ms, turn.timestamp) == (18_000, T0)


@pytest.mark.parametrize(("second", "seconds"), [(50, 18), (9, 18), (4, 13), (0, 9)])
def test_time_in_which_two_traces_run_at_once_is_counted_once(second: int, seconds: int) -> None:
    spans = [
        *(chat("1", "b", 1, FIRST, asks("x", "f")), agent("1", 0)),
        *(chat("2", "b", second + 1, CALLED, text("assistant", "a1")), agent("2", second)),
    ]
    (turn,) = joined(spans).turns
    assert turn.latency_ms == 1000 * seconds


def test_what_only_a_model_call_was_asked_is_a_finding() -> None:
    given = json.dumps(FIRST)
    own = chat("1", "c", 3, [text("user", "Now compare them.")], text("assistant", "a2"))
    spans = [
        agent("1", 0, gen_ai__input__messages=given),
        chat("1", "b", 1, FIRST, text("assistant", "a1")),
        own,
    ]
    (turn,) = joined(spans).turns
    (finding,) = turn.findings
    assert (turn.user, finding.kind, turn.unknown_calls) == ("q1", "UnreadUserText", None)
    assert "'Now compare them.'" in finding.message


def asked(own: str, at: int, said: str, **held: Any) -> list[TraceSpan]:
    """Returns an agent that was asked q1, and its model call."""
    top = agent("1", at, own, gen_ai__input__messages=json.dumps(FIRST[1:]), **held)
    return [top, chat("1", own + "m", at + 1, FIRST, text("assistant", said), own)]


def test_an_equal_message_to_the_same_agent_is_another_turn() -> None:
    twice = [*asked("a", 0, "page 1"), *asked("b", 20, "page 2")]
    assert [read(turn) for turn in joined(twice).turns] == [("q1", [], "page 1"), ("q1", [], "page 2")]
    others = [
        *asked("a", 0, "page 1", gen_ai__agent__name="x"),
        *asked("b", 20, "page 2", gen_ai__agent__name="y"),
    ]
    beside = [*asked("a", 0, "page 1"), *asked("b", 5, "page 2")]
    lacking = [*asked("a", 0, "page 1")[:1], *asked("b", 20, "page 2")]
    for spans in (others, beside, lacking):
        assert [read(turn) for turn in joined(spans).turns] == [("q1", [], "page 2")]


def twice(parent: str, given: Messages = FIRST, at: int = 5) -> list[Turn]:
    """Returns the turns of two model calls that answer q1."""
    spans = [chat("1", "b", 1, FIRST, text("assistant", "a1"), parent)]
    top = [agent("1", 0)] if parent else []
    return joined([*top, *spans, chat("1", "c", at, given, text("assistant", "a2"), parent)]).turns


def test_an_equal_message_to_a_model_is_another_turn() -> None:
    assert [(*read(turn), turn.findings) for turn in twice("")] == [
        ("q1", [], "a1", []),
        ("q1", [], "a2", []),
    ]


@pytest.mark.parametrize(
    ("parent", "given"),
    [("a", FIRST), ("a", FIRST[1:]), ("", [text("system", "Make a title."), FIRST[1]])],
)
def test_of_two_answers_to_one_message_none_is_taken(parent: str, given: Messages) -> None:
    (turn,) = twice(parent, given)
    assert [each.kind for each in turn.findings] == ["SeveralAnswers"] and turn.unknown_words


@pytest.mark.parametrize(
    ("said", "frame"), [("a1", "{}"), ("The parcel comes tomorrow.", "Shorten this: {}")]
)
def test_an_answer_that_was_made_of_another_one_is_the_answer(said: str, frame: str) -> None:
    given = [text("system", frame.format(said)), FIRST[1]]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, text("assistant", said))]
    (turn,) = joined([*spans, chat("1", "c", 5, given, text("assistant", "a2"))]).turns
    assert (turn.agent, turn.findings) == ("a2", [])


@pytest.mark.parametrize(
    ("stated", "given"),
    [
        ("a1", [text("system", "Make a title."), FIRST[1]]),
        ("My answer is: a1!", [text("system", "Make a title."), FIRST[1]]),
        ("a1", [text("system", "Rate this: a1")]),
    ],
)
def test_of_several_answers_the_agents_own_is_the_answer(stated: str, given: Messages) -> None:
    said = json.dumps([text("assistant", stated)])
    top = agent("1", 0, gen_ai__input__messages=json.dumps(FIRST[1:]), gen_ai__output__messages=said)
    spans = [top, chat("1", "b", 1, FIRST, text("assistant", "a1"))]
    (turn,) = joined([*spans, chat("1", "c", 5, given, text("assistant", "Title"))]).turns
    assert (turn.agent, turn.findings) == (stated, [])
