"""What a log leaves open, undoes or does not answer: which scores and verdicts that takes."""

import json
from typing import Any

import pytest

import turnwise

BOOK = {"name": "book", "args": {"n": 1}}
PAY = {"name": "pay", "args": {"n": 2}}
ON_CALLS = ("tool_trajectory_avg_score", "tool_effects_v1", "tool_invocation_score")
CRITERIA: dict[str, Any] = {
    **dict.fromkeys(ON_CALLS, 1.0),
    "tool_call_count_v1": {"threshold": None},
    "response_match_score": 0.8,
    "hallucinations_v1": 0.5,
}
NOTHING: dict[str, set[int]] = {}


def asked(call_id: str, call: dict[str, Any], **own: Any) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call_id, "type": "function", "function": function, **own}


def agent(content: Any, *calls: Any, **fields: Any) -> dict[str, Any]:
    made = {"tool_calls": list(calls)} if calls else {}
    return {"role": "assistant", "content": content, **made, **fields}


def answer(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def scored(result: turnwise.RunResult) -> dict[str, dict[int | None, Any]]:
    """Returns criterion -> turn -> value."""
    found: dict[str, dict[int | None, Any]] = {}
    for row in result.scores:
        found.setdefault(row["criterion"], {})[row["turn_index"]] = row["value"]
    return found


UNREAD = {
    "calls": ("", {"tool_uses": [{"name": "delete"}]}),
    "words": ([{"type": "text", "text": "Your seat is 12."}, {"type": "image_url", "image_url": {}}], {}),
    "both": ([{"type": "text", "text": "Your seat is 12."}, {"type": "hologram"}], {}),
}


def with_gap(kind: str, at: int) -> dict[str, Any]:
    """Returns two turns, one of which holds something that is not read."""
    messages: list[Any] = []
    for turn in range(2):
        content, fields = UNREAD[kind] if turn == at and kind in UNREAD else ("Your seat is 12.", {})
        messages += [
            {"role": "user", "content": f"book {turn}"},
            agent("", asked(str(turn), BOOK)),
            answer(str(turn), "Your seat is 12."),
            agent(content or "Your seat is 12.", **fields),
        ]
    return {"conversation_id": "c", "eval_id": "e", "messages": messages}


def golden() -> dict[str, Any]:
    turn = {"response": "Your seat is 12.", "tool_calls": [BOOK]}
    return {"eval_id": "e", "turns": [{"user": f"book {i}", **turn} for i in range(2)]}


def by_turn(calls: set[int], words: set[int], judged: set[int]) -> dict[str, set[int]]:
    """Returns the turns that have no score: of criteria that rest on calls, on words, and on all so far."""
    found = {**dict.fromkeys((*ON_CALLS, "tool_call_count_v1"), calls), "response_match_score": words}
    return {name: turns for name, turns in {**found, "hallucinations_v1": judged}.items() if turns}


@pytest.mark.parametrize(
    ("kind", "at", "withheld"),
    [
        ("none", 0, NOTHING),
        ("calls", 0, by_turn({0}, set(), {0, 1})),
        ("calls", 1, by_turn({1}, set(), {1})),
        ("words", 0, by_turn(set(), {0}, {0})),
        ("words", 1, by_turn(set(), {1}, {1})),
        ("both", 0, by_turn({0}, {0}, {0, 1})),
        ("both", 1, by_turn({1}, {1}, {1})),
    ],
)
def test_what_is_not_read_of_a_turn_takes_the_scores_that_rest_on_it(kind, at, withheld):
    """A judge is shown the calls of earlier turns, too."""
    result = turnwise.evaluate(with_gap(kind, at), cases=golden(), criteria=CRITERIA, judge="local")
    found = scored(result)
    assert found.keys() == CRITERIA.keys()
    missing = {name: {i for i in (0, 1) if values[i] is None} for name, values in found.items()}
    assert {name: turns for name, turns in missing.items() if turns} == withheld
    outcomes = {row["criterion"]: row["outcome"] for row in result.scores if row["turn_index"] is None}
    gated = {name for name, criterion in CRITERIA.items() if not isinstance(criterion, dict)}
    assert {name for name in gated if outcomes[name] is None} == withheld.keys() & gated
    assert result.status == (None if withheld else "PASS")


def inline(at: int | None, **unread: Any) -> dict[str, Any]:
    """Returns two turns that hold their expectations, one of them one that nothing reads."""
    said = {"agent": "Your seat is 12.", "tool_calls": [BOOK]}
    given = [{"name": "book", "response": "Your seat is 12."}]
    expected = {"response": "Your seat is 12.", "tool_calls": [BOOK]}
    turns = [
        {"user": f"book {i}", **said, "tool_responses": given, "expected": {**expected, **more}}
        for i, more in enumerate(unread if i == at else {} for i in range(2))
    ]
    return {"conversation_id": "c", "turns": turns}


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("unread", [{"must_call": ["pay"]}, {"assertions": ["pays"]}])
def test_an_expectation_that_is_not_read_takes_what_holds_calls_against_it(unread, at):
    assert turnwise.evaluate(inline(None), criteria=CRITERIA, judge="local").status == "PASS"
    result = turnwise.evaluate(inline(at, **unread), criteria=CRITERIA, judge="local")
    missing = {(name, i) for name, values in scored(result).items() for i in (0, 1) if values[i] is None}
    assert missing == {(name, at) for name in ON_CALLS}
    outcomes = {row["criterion"]: row["outcome"] for row in result.scores if row["turn_index"] is None}
    gated = {name for name, criterion in CRITERIA.items() if not isinstance(criterion, dict)}
    assert {name for name in gated if outcomes[name] is None} == gated & {*ON_CALLS}
    assert result.status is None
    ended = {**inline(at, **unread), "ended": "normally"}
    assert scored(turnwise.evaluate(ended, criteria={"ended_normally": 1.0}))["ended_normally"][None] == 1.0
    # The record's own expectations do not make up for one of its case.
    for more, status in (({}, "PASS"), (unread, None)):
        case = golden()
        case["turns"][at] |= more
        log = {**inline(None), "eval_id": "e"}
        assert turnwise.evaluate(log, cases=case, criteria=CRITERIA, judge="local").status == status


BOTH = agent("", asked("1", BOOK), asked("2", PAY))
DONE = agent("Done.")
NO_MONEY = "Error: no money"


@pytest.mark.parametrize(
    ("messages", "effects", "trajectory", "status"),
    [
        ([BOTH, answer("1", "ok"), answer("2", "ok"), DONE], 1.0, 1.0, "PASS"),
        ([BOTH, answer("1", "ok"), answer("2", NO_MONEY), DONE], 2 / 3, 1.0, "FAIL"),
        # A call without a result counts as made; the failure is that of the call with its id.
        ([BOTH, answer("1", "ok"), DONE], 1.0, 1.0, "PASS"),
        ([BOTH, answer("2", NO_MONEY), DONE], 2 / 3, 1.0, "FAIL"),
        ([BOTH, answer("1", "ok"), answer("3", "ok"), DONE], None, None, None),
        # The log stops before the agent answered.
        ([BOTH], None, None, None),
        ([BOTH, answer("1", "ok")], 1.0, 1.0, None),
        ([agent("", asked("1", BOOK, result="ok"), asked("2", PAY))], None, None, None),
        ([agent("", asked("1", BOOK, result="ok"), asked("2", PAY, result="ok"))], 1.0, 1.0, None),
        ([agent("", asked("1", BOOK, result="ok"), asked("2", PAY, result=NO_MONEY))], 2 / 3, 1.0, "FAIL"),
    ],
)
def test_parallel_calls_of_which_some_are_answered(messages, effects, trajectory, status):
    log = {"conversation_id": "c", "eval_id": "e", "messages": [{"role": "user", "content": "do"}, *messages]}
    criteria = {"tool_effects_v1": 1.0, "tool_trajectory_avg_score": 1.0}
    result = turnwise.evaluate(log, cases={"eval_id": "e", "actions": [BOOK, PAY]}, criteria=criteria)
    found = scored(result)
    assert found["tool_effects_v1"][None] == (None if effects is None else pytest.approx(effects))
    assert (found["tool_trajectory_avg_score"][None], result.status) == (trajectory, status)


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([("1", "ok"), ("2", NO_MONEY)], "PASS"),
        ([("1", NO_MONEY), ("2", "ok")], "FAIL"),
        ([("1", NO_MONEY)], "FAIL"),
    ],
)
def test_a_result_is_that_of_the_call_with_its_id(answers, status):
    """Of two calls of one tool, the first is the expected one."""
    calls = asked("1", BOOK), asked("2", {**BOOK, "args": {"n": 2}})
    messages = [agent("", *calls), *(answer(*one) for one in answers), DONE]
    log = {"conversation_id": "c", "eval_id": "e", "messages": [{"role": "user", "content": "do"}, *messages]}
    result = turnwise.evaluate(
        log, cases={"eval_id": "e", "actions": [BOOK]}, criteria={"tool_effects_v1": 1}
    )
    assert result.status == status


def adk_turn(turn: str, at: float, user: str, said: str, call: str = "") -> list[Any]:
    parts: list[Any] = [{"text": said}]
    if call:
        made = {"function_call": {"name": call, "args": {}}}
        parts = [made, {"function_response": {"name": call, "response": {"ok": True}}}, *parts]
    return [
        {"author": author, "content": {"parts": [part]}, "timestamp": at + i / 10, "invocation_id": turn}
        for i, (author, part) in enumerate([("user", {"text": user}), *(("a", part) for part in parts)])
    ]


@pytest.mark.parametrize(
    ("name", "failing", "status"), [("drop", "drop", "PASS"), ("drop", "add", "FAIL"), ("add", "add", "PASS")]
)
def test_calls_of_one_id_keep_a_result_each(name, failing, status):
    """Some models give every call the same id; of `add`, which is tried twice, the first may fail."""
    made = [{"function_call": {"name": each, "args": {}, "id": "1"}} for each in (name, "add")]
    given: list[Any] = [{"error": NO_MONEY}, {"ok": True}]
    given = given if failing == name else given[::-1]
    back = [
        {"function_response": {"name": each, "response": response, "id": "1"}}
        for each, response in zip((name, "add"), given, strict=True)
    ]
    parts = [*made, *back, {"text": "Done."}]
    events = [
        {"author": author, "content": {"parts": [part]}, "timestamp": 1.0 + i, "invocation_id": "i1"}
        for i, (author, part) in enumerate([("user", {"text": "add it"}), *(("a", part) for part in parts)])
    ]
    case = {"eval_id": "e", "actions": [{"name": "add", "args": {}}]}
    assert turnwise.evaluate(adk(events), cases=case, criteria={"tool_effects_v1": 1.0}).status == status


def adk_rewind(to: str, at: float) -> list[Any]:
    actions = {"rewind_before_invocation_id": to}
    return [{"author": "user", "invocation_id": f"r{to}", "timestamp": at, "actions": actions}]


def adk(*parts: list[Any]) -> dict[str, Any]:
    events = [event for part in parts for event in part]
    return {"id": "s1", "app_name": "x", "user_id": "u", "state": {"eval_id": "e"}, "events": events}


def codex(*parts: list[Any]) -> list[Any]:
    start = {"id": "s1", "cwd": "/", "cli_version": "1"}
    items = [("session_meta", start), *(item for part in parts for item in part)]
    return [
        {"timestamp": f"2026-01-01T00:00:{i:02}Z", "type": kind, "payload": payload}
        for i, (kind, payload) in enumerate(items)
    ]


def codex_turn(user: str, said: str, call: str = "") -> list[Any]:
    def message(role: str, text: str) -> Any:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        return "response_item", {"type": "message", "role": role, "content": content}

    made = {"type": "function_call", "name": call, "arguments": "{}", "call_id": call}
    back = {"type": "function_call_output", "call_id": call, "output": "ok"}
    steps = [("response_item", made), ("response_item", back)] if call else []
    typed = ("event_msg", {"type": "user_message", "message": user})
    return [typed, message("user", user), *steps, message("assistant", said)]


CODEX_UNDO: list[Any] = [("event_msg", {"type": "thread_rolled_back", "num_turns": 1})]
ADD_A = adk_turn("i1", 1, "add it", "Added.", "add")
DROP_A = adk_turn("i2", 2, "drop it", "Dropped.", "drop")
WHY_A = adk_turn("i2", 2, "why?", "Because.")
BYE_A = adk_turn("i3", 4, "bye", "Bye.")
ADD_C, DROP_C, WHY_C, BYE_C = (
    codex_turn("add it", "Added.", "add"),
    codex_turn("drop it", "Dropped.", "drop"),
    codex_turn("why?", "Because."),
    codex_turn("bye", "Bye."),
)


@pytest.mark.parametrize(
    ("log", "effects", "status"),
    [
        (adk(ADD_A, BYE_A), 1.0, "PASS"),
        (adk(ADD_A, DROP_A, BYE_A), 2 / 3, "FAIL"),
        (adk(ADD_A, DROP_A, adk_rewind("i2", 3), BYE_A), None, None),
        (adk(ADD_A, WHY_A, adk_rewind("i2", 3), BYE_A), 1.0, "PASS"),
        (adk(ADD_A, adk_rewind("i1", 3), BYE_A), None, None),
        (codex(ADD_C, BYE_C), 1.0, "PASS"),
        (codex(ADD_C, DROP_C, BYE_C), 2 / 3, "FAIL"),
        (codex(ADD_C, DROP_C, CODEX_UNDO, BYE_C), None, None),
        (codex(ADD_C, WHY_C, CODEX_UNDO, BYE_C), 1.0, "PASS"),
        (codex(ADD_C, CODEX_UNDO, BYE_C), None, None),
    ],
)
def test_what_undone_turns_changed_is_unknown(log, effects, status, tmp_path):
    """The conversation was rolled back, and what its tools did was not."""
    place = tmp_path / "rollout-s1.jsonl"
    place.write_text("".join(json.dumps(item) + "\n" for item in (log if isinstance(log, list) else [log])))
    (conversation,) = turnwise.read_conversations(place)
    conversation.eval_id = "e"
    case = {"eval_id": "e", "actions": [{"name": "add", "args": {}}]}
    result = turnwise.evaluate(conversation, cases=case, criteria={"tool_effects_v1": 1.0})
    (row,) = result.scores
    assert row["value"] == (None if effects is None else pytest.approx(effects))
    assert result.status == status
