"""How conversations ended: what every format says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import FORMATS, one
from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.formats.endings import UNKNOWN, End, stated_end
from turnwise.transforms.formats.reading import LogReader

WORDS = {
    "normally": ["normally", "Normal", "completed", "user_stop", "agent_stop"],
    "agent_error": ["agent_error", "agent error", "AGENT-ERROR", "error", "crashed", "too_many_errors"],
    "limit": ["limit", "limit reached", "max_steps", "max-turns", "timeout", "context_window_exceeded"],
    "user_left": ["user_left", "user left"],
    "hand_off": ["hand_off", "hand-off", "handoff", "escalated"],
    "environment_error": ["environment_error", "user_error", "infrastructure_error", "unexpected_error"],
}


@pytest.mark.parametrize(("ended", "word"), [(e, word) for e, words in WORDS.items() for word in words])
def test_words(ended, word):
    assert stated_end(word) == End(ended, None if word == ended else word)
    assert stated_end(word, " the log's\nown words ") == End(ended, "the log's own words")


KNOWN = {word.replace(" ", "_").replace("-", "_").lower() for words in WORDS.values() for word in words}
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)


@given(JSON)
def test_nothing_unknown_ends_normally(word):
    assert str(word).lower() in KNOWN or stated_end(word).ended != "normally"


PENDING = {"status": "pending", "end_time": None}


@pytest.mark.parametrize(
    ("is_open", "unfinished"),
    [
        (lambda run: False, [False, False]),
        (lambda run: not run.get("parent_run_id"), [True, True]),
        (lambda run: run["name"] == "get_order", [True, False]),
    ],
)
def test_a_run_of_langsmith_that_had_not_ended_leaves_its_turn_unknown(is_open, unfinished):
    lines = (FORMATS / "langsmith_runs/generated_langgraph_runs.jsonl").read_text().splitlines()
    runs = [json.loads(line) for line in lines]
    turns = one([{**run, **(PENDING if is_open(run) else {})} for run in runs]).turns
    assert [bool(turn.unknown_calls and turn.unknown_words) for turn in turns] == unfinished
    ended = one([{**run, "status": "pending"} for run in runs]).turns
    assert [turn.unknown_calls for turn in ended] == [None, None]


def event(author, *parts, **fields):
    content = (
        {"content": {"parts": [{"text": p} if isinstance(p, str) else p for p in parts]}} if parts else {}
    )
    return {"author": author, "invocation_id": "i", **content, **fields}


ASKED = event("user", "hi")
CALLED = event("agent", {"function_call": {"name": "pay", "args": {}}}, finish_reason="STOP")
SAID = event("agent", "done")


def case_result(*pairs, status=2, metrics=(), **fields):
    return {
        "eval_id": "e",
        "session_id": "s",
        "final_eval_status": status,
        "overall_eval_metric_results": list(metrics),
        "eval_metric_result_per_invocation": list(pairs),
        **fields,
    }


def invocation(said):
    content = {"parts": [{"text": said}]}
    return {"user_content": content, "final_response": content if said else None}


SCRIPTED = {"actual_invocation": invocation("x"), "expected_invocation": invocation("x")}
SILENT = {"actual_invocation": invocation(""), "expected_invocation": invocation("x")}
SIMULATED = {"actual_invocation": invocation("x")}
RAISED = "final_eval_status is FAILED and no invocation was recorded: the agent raised an error"


@pytest.mark.parametrize(
    ("result", "ended", "detail"),
    [
        (case_result(SCRIPTED), "normally", None),
        (case_result(SCRIPTED, SILENT, status=1), None, None),
        (case_result(SIMULATED, status=1), None, None),
        (case_result(), "agent_error", RAISED),
        (case_result(session_details={"state": {}, "events": None}), "agent_error", RAISED),
        (case_result(metrics=[{"metric_name": "m", "eval_status": 3}]), "agent_error", RAISED),
        (
            case_result(session_details={"id": "s", "events": [ASKED, CALLED]}),
            "agent_error",
            f"{RAISED}: pay never responded",
        ),
        (
            case_result(sessionDetails={"events": [ASKED, event("agent", error_code="MAX_TOKENS")]}),
            "limit",
            f"{RAISED}: MAX_TOKENS",
        ),
        (case_result(session_details={"events": [ASKED, SAID]}), "agent_error", RAISED),
    ],
)
def test_adk_results(result, ended, detail):
    (found,) = eval_result_conversations(result)
    assert (found.ended, found.ended_detail) == (ended, detail)


def test_a_case_that_raised_keeps_what_its_session_holds_and_the_version_of_the_others():
    state = {"state": {"app_version": "v2"}}
    crashed = case_result(session_id="t", session_details={"id": "t", "events": [ASKED, CALLED], **state})
    results = [case_result(SCRIPTED, session_details=state), crashed, case_result(session_id="")]
    _, second, third = eval_result_conversations({"eval_case_results": results, "eval_set_id": "set"})
    assert [call.name for turn in second.turns for call in turn.tool_calls] == ["pay"]
    assert (second.app_version, third.app_version) == ("v2", "v2")
    assert (third.turns, third.eval_id, third.eval_set_id) == ([], "e", "set")
    results[1]["session_details"]["state"] = {"app_version": "v3"}
    assert eval_result_conversations({"eval_case_results": results})[2].app_version is None


ANSWER = {"name": "projects/p/locations/l/collections/c/engines/e/sessions/s/answers/1", "answerText": "x"}


@pytest.mark.parametrize(
    ("states", "end"),
    [
        (["SUCCEEDED"], UNKNOWN),
        (["FAILED"], End("agent_error", "the state of the last answer is FAILED")),
        (["FAILED", "SUCCEEDED"], UNKNOWN),
        (["CANCELLED"], End(None, "the state of an answer is CANCELLED")),
    ],
)
def test_answers(states, end):
    turns = [{"query": {"text": "q"}, "detailedAnswer": {**ANSWER, "state": state}} for state in states]
    record = {"name": "projects/p/locations/l/collections/c/engines/e/sessions/s", "turns": turns}
    found = answer_conversation(record, DiscoveryEngineConfig())
    assert (found.ended, found.ended_detail) == end


@pytest.mark.parametrize(
    ("event", "is_end"),
    [
        ({"conversation_id": "c", "turn_index": 0, "turn": {"user": "hi", "agent": "hello"}}, False),
        ({"conversation_id": "c", "end": True}, True),
        ({"conversation_id": "c", "ended": "user left"}, True),
        ({"conversation_id": "c", "termination_reason": "max_steps", "end": False}, True),
        ({"session_id": "c", "event": ASKED}, False),
        ({"session_id": "c", "end": True, "ended": "limit"}, True),
        ({"labels": {"session_id": "c"}, "jsonPayload": {"turnIndex": 1, "text": "hello"}}, False),
        ({"labels": {"session_id": "c"}, "jsonPayload": {"turnIndex": 1, "endSession": {}}}, True),
    ],
)
def test_events_that_state_the_end(event, is_end):
    [found] = LogReader().read(Record("log.jsonl", 1, json.dumps(event).encode()))
    assert found.is_end == is_end


FAILED_SUB = event("helper", error_code="500", error_message="boom")


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([ASKED, FAILED_SUB, SAID], End("agent_error", "turn 1: helper failed: 500: boom")),
        ([ASKED, FAILED_SUB, event("helper", "done")], UNKNOWN),
        ([ASKED, event("agent", error_code="500"), CALLED, SAID], UNKNOWN),
    ],
)
def test_an_agent_that_fails_while_another_goes_on_ends_a_session(events, end):
    found = one({"id": "s", "appName": "a", "userId": "u", "events": events})
    assert (found.ended, found.ended_detail) == end
