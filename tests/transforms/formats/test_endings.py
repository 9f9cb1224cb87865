"""How conversations ended: what every format says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import FORMATS, one
from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.formats.endings import UNKNOWN, End, stated_end
from turnwise.transforms.formats.events import join_events
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


def read(record, input_format="auto"):
    """Returns the end of the one conversation in a record."""
    (found,) = LogReader(input_format).read(Record("log.jsonl", 1, json.dumps(record).encode()))
    return End(found.ended, found.ended_detail)


def canonical(**fields):
    return {"conversation_id": "c", "turns": [{"user": "hi", "agent": "hello"}], **fields}


def chat(*more, **fields):
    return {"messages": [{"role": "user", "content": "hi"}, *more], **fields}


ANSWERED = {"role": "assistant", "content": "hello"}


@pytest.mark.parametrize(
    ("record", "end"),
    [
        (canonical(), UNKNOWN),
        (canonical(ended="limit"), End("limit")),
        (canonical(ended="exploded"), End(None, "exploded")),
        (canonical(ended=3), End(None, "3")),
        (canonical(meta={"termination_reason": "user_stop"}), End("normally", "user_stop")),
        (canonical(termination_reason="too_many_errors"), End("agent_error", "too_many_errors")),
        (
            canonical(ended="normally", meta={"termination_reason": "max_steps"}),
            End(None, "normally, and also limit: max_steps"),
        ),
        (canonical(ended="limit", error="boom"), End("limit")),
        (canonical(error=False), UNKNOWN),
        (canonical(status="failed"), End("agent_error", "failed")),
        (canonical(status="completed"), UNKNOWN),
        (canonical(metadata={"termination_reason": "max_steps"}), End("limit", "max_steps")),
        (canonical(turns=[{"user": "a", "error": "boom"}, {"user": "a", "agent": "b"}]), UNKNOWN),
        (chat(ANSWERED, termination_reason="max_steps"), End("limit", "max_steps")),
        (chat({**ANSWERED, "finish_reason": "length"}, {"role": "user"}, ANSWERED), UNKNOWN),
        (chat({**ANSWERED, "finish_reason": "abort"}), End(None, "abort")),
        (chat({**ANSWERED, "finish_reason": "tool_calls"}), End(None, "tool_calls")),
        (chat({"role": "assistant", "content": "", "status": "error"}), End("agent_error", "error")),
        (chat({"role": "assistant", "error": "retry"}, ANSWERED), UNKNOWN),
        (chat(finish_reason="stop"), UNKNOWN),
        (chat(ANSWERED, {"role": "user", "content": "###TRANSFER###"}), End("hand_off", "###TRANSFER###")),
        (chat(ANSWERED, metadata={"termination_reason": "max_steps"}), End("limit", "max_steps")),
        (chat(ANSWERED, info={"termination_reason": "agent_error"}), End("agent_error")),
        (chat(ANSWERED, error={"code": 500}), End("agent_error", '{"code": 500}')),
        (chat(ANSWERED, error=None), UNKNOWN),
        (
            {"task_id": 3, "trial": 0, "reward": 0.0, "traj": [], "info": {"error": "boom"}},
            End("agent_error", "boom"),
        ),
        (
            {"task_id": 3, "traj": [ANSWERED], "info": {"error": "boom"}, "reward": 0.0},
            End("agent_error", "boom"),
        ),
    ],
)
def test_canonical_records_and_chats(record, end):
    assert read(record) == end


def in_responses(last, **fields):
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
    return {"items": [{"role": "user", "content": "hi"}, {**said, **last}], **fields}


@pytest.mark.parametrize(
    ("status", "item_status", "end"),
    [
        ("completed", "completed", End("normally", "stop")),
        ("completed", "incomplete", End(None, "incomplete")),
        ("incomplete", "completed", End("limit", "max_tokens")),
        ("failed", "completed", End("agent_error", "failed")),
        (None, "completed", UNKNOWN),
    ],
)
def test_replies_of_the_responses_api(status, item_status, end):
    [_, said] = in_responses({"status": item_status})["items"]
    reply = {"object": "response", "status": status, "output": [said]}
    assert read_exchange({"model": "m", "input": "hi"}, reply) == end


def read_exchange(request, reply):
    value = {"request": request, "response": reply}
    events = LogReader().read(Record("log.jsonl", 1, json.dumps(value).encode()))
    found = join_events("c", events)
    return End(found.ended, found.ended_detail)


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


def test_a_task_that_raised_before_its_first_message_is_a_run_of_the_task():
    record = {"task_id": 3, "trial": 0, "reward": 0.0, "traj": [], "info": {"error": "boom"}}
    (found,) = LogReader().read(Record("log.jsonl", 1, json.dumps(record).encode()))
    assert (found.turns, found.conversation_id, found.expected is not None) == ([], "3-0", True)


def event(author, *parts, **fields):
    content = (
        {"content": {"parts": [{"text": p} if isinstance(p, str) else p for p in parts]}} if parts else {}
    )
    return {"author": author, "invocation_id": "i", **content, **fields}


ASKED = event("user", "hi")
CALLED = event("agent", {"function_call": {"name": "pay", "args": {}}}, finish_reason="STOP")
RESPONDED = event("agent", {"function_response": {"name": "pay", "response": {"ok": True}}})
SAID = event("agent", "done")
STATE = event("agent", actions={"state_delta": {"n": 1}})
UNFINISHED = "turnComplete is false: the agent had not finished"
NO_ANSWER = End("agent_error", "the user's last message has no answer")


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([], UNKNOWN),
        ([ASKED, SAID], UNKNOWN),
        ([ASKED, CALLED, RESPONDED, SAID, STATE], UNKNOWN),
        ([ASKED, {**SAID, "finishReason": "STOP"}, STATE], End("normally", "STOP")),
        ([ASKED, {**SAID, "finish_reason": "MAX_TOKENS"}], End("limit", "MAX_TOKENS")),
        ([ASKED, {**SAID, "finish_reason": "SAFETY"}], End("agent_error", "SAFETY")),
        ([ASKED, event("agent", finish_reason="OTHER")], End(None, "OTHER")),
        ([ASKED, {**SAID, "turnComplete": False}], End(None, UNFINISHED)),
        ([ASKED, {**SAID, "turnComplete": False}, event("agent", turn_complete=True)], UNKNOWN),
        ([ASKED, event("agent", finish_reason="STOP")], UNKNOWN),
        ([ASKED], NO_ANSWER),
        ([ASKED, SAID, event("user", "and?"), STATE], NO_ANSWER),
        ([ASKED, {**SAID, "partial": True}], NO_ANSWER),
        ([ASKED, CALLED, RESPONDED], End("agent_error", "no answer followed the last tool response")),
        ([ASKED, CALLED, {**RESPONDED, "actions": {"skip_summarization": True}}], UNKNOWN),
        ([ASKED, {**CALLED, "long_running_tool_ids": ["1"]}], UNKNOWN),
        ([ASKED, CALLED, event("agent", error_code="MAX_TOKENS")], End("limit", "MAX_TOKENS")),
        (
            [ASKED, event("agent", errorCode="MALFORMED_FUNCTION_CALL", errorMessage="bad\ncall")],
            End("agent_error", "MALFORMED_FUNCTION_CALL: bad call"),
        ),
        ([ASKED, event("agent", error_code="503"), ASKED, SAID], UNKNOWN),
        (
            [ASKED, event("agent", "I was", interrupted=True)],
            End("user_left", "the agent's last answer was interrupted"),
        ),
        ([ASKED, event("agent", "I was", interrupted=True), ASKED, SAID], UNKNOWN),
    ],
)
def test_adk_sessions(events, end):
    found = session_conversation({"id": "s", "events": events})
    assert (found.ended, found.ended_detail) == end


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


def ces_turn(*chunks, role="agent", **fields):
    return {
        "messages": [{"role": "user", "chunks": [{"text": "hi"}]}, {"role": role, "chunks": list(chunks)}],
        **fields,
    }


def ended_by_call(**args):
    return ces_turn({"toolCall": {"displayName": "end_session", "args": args}})


BROKEN = {"name": "Agent", "attributes": {"error": "deadline exceeded"}}


@pytest.mark.parametrize(
    ("turns", "end"),
    [
        ([ces_turn({"text": "hello"})], UNKNOWN),
        ([ended_by_call()], End("normally")),
        ([ended_by_call(reason="wants a person", session_escalated=True)], End("hand_off", "wants a person")),
        ([ended_by_call(), ces_turn({"text": "still here"})], UNKNOWN),
        ([ces_turn({"text": ""}, rootSpan=BROKEN)], End("limit", "deadline exceeded")),
        ([ces_turn({"text": "Sorry."}, rootSpan=BROKEN)], UNKNOWN),
    ],
)
def test_ces_conversations(turns, end):
    record = {"name": "projects/p/locations/l/apps/a/conversations/c", "turns": turns}
    assert read(record) == end
    assert read({**record, "ended": "limit"}, "ces_conversation") == End("limit")


def joined(*values):
    records = [Record("log.jsonl", i, json.dumps(value).encode()) for i, value in enumerate(values, 1)]
    read_one = LogReader().read
    events = [event for record in records for event in read_one(record)]
    found = join_events("c", events)
    return End(found.ended, found.ended_detail), events[-1].is_end


def entry(**payload):
    return {"labels": {"session_id": "c"}, "jsonPayload": {"turnIndex": 1, **payload}}


TURN = {"conversation_id": "c", "turn_index": 0, "turn": {"user": "hi", "agent": "hello"}}
ADK_TURN = {"session_id": "c", "event": ASKED}


@pytest.mark.parametrize(
    ("values", "end", "is_end"),
    [
        ([TURN], UNKNOWN, False),
        ([TURN, {"conversation_id": "c", "end": True}], UNKNOWN, True),
        ([TURN, {"conversation_id": "c", "end": True, "ended": "limit"}], End("limit"), True),
        ([TURN, {"conversation_id": "c", "ended": "user left"}], End("user_left", "user left"), True),
        (
            [{**TURN, "ended": "agent_error", "ended_detail": "500"}, {"conversation_id": "c", "end": True}],
            End("agent_error", "500"),
            True,
        ),
        (
            [TURN, {"conversation_id": "c", "end": True, "termination_reason": "max_steps"}],
            End("limit", "max_steps"),
            True,
        ),
        ([TURN, {"conversation_id": "c", "end": True, "ended": "exploded"}], End(None, "exploded"), True),
        ([ADK_TURN, {"session_id": "c", "event": SAID}], UNKNOWN, False),
        (
            [ADK_TURN, {"session_id": "c", "end": True, "ended": "limit", "ended_detail": "5 calls"}],
            End("limit", "5 calls"),
            True,
        ),
        ([entry(text="hello")], UNKNOWN, False),
        ([entry(text="hello"), entry(endSession={})], End("normally"), True),
        (
            [
                entry(text="hello"),
                entry(endSession={"metadata": {"reason": "angry", "session_escalated": True}}),
            ],
            End("hand_off", "angry"),
            True,
        ),
    ],
)
def test_events(values, end, is_end):
    assert joined(*values) == (end, is_end)


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
