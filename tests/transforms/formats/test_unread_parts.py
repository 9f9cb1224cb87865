"""What a reader does not understand is a finding, and what rests on it is not scored."""

import asyncio
import json
from typing import Any

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Expectation, ExpectedTurn, Record, ToolCall, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.formats.chat import chat_conversation
from turnwise.transforms.formats.events import in_order, join_events
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.conversation import decide
from turnwise.transforms.scoring.evaluate import judge_conversation, score_conversation

USER = {"role": "user", "content": "delete my account"}
DONE = {"role": "assistant", "content": "Done."}
RUN = RunInfo("r", "2026-01-01T00:00:00Z")
CALLS, WORDS, BOTH, NEITHER = (True, False), (False, True), (True, True), (False, False)


def agent(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts), **fields}


def call(call_id: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}, **fields}


def chat(*messages: Any) -> list[Turn]:
    return chat_conversation({"messages": list(messages)}, "c").turns


def tool(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


OTHER = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
NAMELESS = {"id": "1", "type": "function"}


def unknown(turn: Turn) -> tuple[bool, bool]:
    return turn.unknown_calls is not None, turn.unknown_words is not None


@pytest.mark.parametrize(
    ("message", "gaps", "named"),
    [
        (agent({"type": "tool_use", "id": "1", "name": "delete_account", "input": {}}), CALLS, "'tool_use'"),
        (agent({"toolUse": {"name": "delete_account"}}), CALLS, "'toolUse'"),
        (agent({"type": "hologram"}), BOTH, "'hologram'"),
        (agent({"no": "type"}), BOTH, "'no'"),
        (agent(5), BOTH, "'int'"),
        ({"role": "assistant", "content": {"parts": []}}, BOTH, "'parts'"),
        ({"role": "assistant", "parts": [{"text": "x"}]}, BOTH, "keys role, parts"),
        (
            {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [call("1", "f")]}},
            CALLS,
            "'tool_calls'",
        ),
        (
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "hologram", "inner": {"name": "f"}}],
            },
            CALLS,
            "'hologram'",
        ),
        (agent(tool_calls=[NAMELESS]), CALLS, "call 1"),
        ({"role": "function", "name": "delete", "content": "deleted"}, CALLS, "'delete' without its call"),
        ({"content": "deleted"}, BOTH, "without a role"),
        ({"role": "assistant", "content": None, "audio": {"id": "a"}}, WORDS, "'audio'"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}, CALLS, "'tool_result'"),
        ({"role": "user", "content": [{"type": "image_url"}]}, NEITHER, "'image_url'"),
    ],
)
def test_what_a_chat_reader_does_not_understand(message, gaps, named):
    turns = chat(USER, message, DONE)
    turn = turns[-1]
    assert unknown(turn) == gaps
    assert named in " ".join(problem.message for problem in turn.findings)


@pytest.mark.parametrize(
    "messages",
    [
        [USER, agent({"type": "text", "text": "hi"}, {"type": "refusal", "refusal": "no"})],
        [USER, agent({"type": "thinking", "thinking": "hm"}, {"type": "reasoning"}, {"text": "hi"})],
        [USER, {"role": "assistant", "content": None, "refusal": "no", "annotations": [], "logprobs": None}],
        [
            USER,
            agent(tool_calls=[call("1", "f")]),
            {"role": "tool", "tool_call_id": "1", "content": {"a": 1}},
        ],
        [USER, {"role": "assistant", "tool_calls": [OTHER]}, tool("1", "x")],
        [
            USER,
            agent(tool_calls=[call("1", "f")], additional_kwargs={"tool_calls": [call("1", "f")]}),
            tool("1", "x"),
        ],
    ],
)
def test_what_a_chat_reader_understands(messages):
    assert [turn.findings for turn in chat(*messages)] == [[] for _ in chat(*messages)]


def read(value: Any, hint: str = "auto") -> Conversation:
    found = LogReader(hint).read(Record("f.jsonl", 1, json.dumps(value).encode()))
    assert isinstance(found, list | tuple)
    (one,) = found
    assert isinstance(one, Conversation), one
    return one


def canonical(**fields: Any) -> Any:
    return {"conversation_id": "c", "turns": [{"user": "q", "agent": "a", **fields}]}


ANSWERED = {"toolResponse": {"tool": "a/tools/f", "id": "1", "response": {}}}


def session(*parts: Any, **fields: Any) -> Any:
    events = [
        {"author": "user", "invocation_id": "i", "content": {"parts": [{"text": "q"}]}},
        {"author": "a", "invocation_id": "i", "content": {"parts": list(parts)}, **fields},
        {"author": "a", "invocation_id": "i", "content": {"parts": [{"text": "Done."}]}},
    ]
    return {"id": "s", "app_name": "x", "user_id": "u", "events": events}


def result(*parts: Any, **fields: Any) -> Any:
    steps = {"invocation_events": [{"author": "a", "content": {"parts": list(parts)}}]}
    said = {"user_content": {"parts": [{"text": "q"}]}, "final_response": {"parts": [{"text": "Done."}]}}
    pair = {"actual_invocation": {**said, "intermediate_data": steps, **fields}}
    case = {"eval_id": "e", "session_id": "s", "eval_metric_result_per_invocation": [pair]}
    return {"eval_set_id": "x", "eval_case_results": [case]}


def final(*parts: Any) -> Any:
    return result(final_response={"parts": list(parts)})


def ces(*chunks: Any, **fields: Any) -> Any:
    said = [{"role": "user", "chunks": [{"text": "q"}]}, {"role": "agent", "chunks": list(chunks), **fields}]
    return {"name": "projects/p/apps/a/conversations/c", "turns": [{"messages": said}]}


def answer(action: Any) -> Any:
    return {"answerText": "a", "answerQueryToken": "t", "steps": [{"actions": [action]}]}


@pytest.mark.parametrize(
    ("value", "gaps", "named"),
    [
        (canonical(toolCalls=[{"name": "f"}]), CALLS, "'toolCalls'"),
        (canonical(tool_calls=[{"type": "hologram", "inner": {"name": "f"}}]), CALLS, "call 1"),
        (canonical(tool_responses=[{"id": "9", "response": "ok"}]), CALLS, "'9' without its call"),
        (canonical(mood="good", toolCalls=[]), NEITHER, ""),
        (session({"codeExecutionResult": {"output": "ok"}}), CALLS, "'code_execution_result'"),
        (session({"hologram": {}}), BOTH, "'hologram'"),
        (session({"text": "hi", "newMetadata": {}}), NEITHER, ""),
        (session({"inline_data": {"mime_type": "image/png"}}), WORDS, "'inline_data'"),
        (session({"function_call": {"args": {}}}), CALLS, "call 1"),
        (session({"inline_data": {}}, outputTranscription={"text": "hi"}), WORDS, "'inline_data'"),
        (session({"text": "See:"}, {"inline_data": {"mime_type": "image/png"}}), NEITHER, "'inline_data'"),
        (session({"text": "Hm"}, {"inlineData": {"mimeType": "audio/pcm"}}), WORDS, "'inline_data'"),
        (final({"text": "See:"}, {"inline_data": {"mime_type": "image/png"}}), NEITHER, "'inline_data'"),
        (final({"inline_data": {"mime_type": "image/png"}}), WORDS, "'inline_data'"),
        (result({"executable_code": {"code": "delete()"}}), CALLS, "'executable_code'"),
        (result(toolUses=[{"name": "f"}]), CALLS, "'toolUses'"),
        (ces({"mcpCall": {"name": "f"}}), CALLS, "'mcpCall'"),
        (ces({"hologram": {}}), BOTH, "'hologram'"),
        (ces({"blob": {"mimeType": "audio/wav"}}), WORDS, "'blob'"),
        (ces({"text": "a", "image": None}), NEITHER, ""),
        (ces({"text": "a"}, {"image": {"mimeType": "image/png"}}), NEITHER, "'image'"),
        (ces({"text": "a"}, toolCalls=[{"tool": "f"}]), CALLS, "'toolCalls'"),
        (ces(ANSWERED), CALLS, "'1' without its call"),
        (ces({"toolCall": {"args": {}}}), CALLS, "call 1"),
        (answer({"bookAction": {"id": 1}}), CALLS, "'bookAction'"),
    ],
)
def test_what_the_other_readers_do_not_understand(value, gaps, named):
    (turn,) = read(value).turns
    assert unknown(turn) == gaps
    said = " ".join(problem.message for problem in turn.findings)
    assert named in said if named else not said


def entry(**payload: Any) -> Any:
    return {"labels": {"session_id": "s"}, "jsonPayload": {"turnIndex": 1, **payload}}


@pytest.mark.parametrize(
    ("payload", "gaps"),
    [
        ({"text": "Done."}, CALLS),
        ({"diagnosticInfo": {"messages": [{"role": "agent", "chunks": [{"text": "Done."}]}]}}, NEITHER),
        ({"diagnosticInfo": {"messages": [{"role": "agent", "chunks": [{"newCall": {}}]}]}}, CALLS),
        ({"diagnostic_info": {"messages": [{"role": "agent", "chunks": [{"newCall": {}}]}]}}, CALLS),
    ],
)
def test_session_log_entries(payload, gaps):
    events = LogReader().read(Record("f", 1, json.dumps(entry(**payload)).encode()))
    (turn,) = join_events("s", in_order(events)).turns  # type: ignore[list-item]
    assert (turn.agent, unknown(turn)) == ("Done." if "newCall" not in str(payload) else None, gaps)


def test_the_trace_shows_calls_that_no_message_holds():
    value = ces({"text": "Done."})
    span = {"name": "Tool", "duration": "1s", "attributes": {"name": "delete_account"}}
    value["turns"][0]["rootSpan"] = {"name": "Turn", "duration": "2s", "childSpans": [span]}
    assert unknown(read(value).turns[0]) == CALLS


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([{"role": "user", "content": "hi"}], "turns.0: none of a turn's fields .keys role, content"),
        ([{"user": "q", "agent": "a"}, {"speaker": "x"}], "turns.1: none of a turn's fields"),
    ],
)
def test_turns_of_another_shape_are_refused(turns, message):
    with pytest.raises(ValueError, match=message):
        read({"conversation_id": "c", "turns": turns}, "turnwise")


def gap_case(golden: EvalCase | None = None, **gaps: Any) -> Sample:
    turns = [
        Turn(turn_index=0, user="q", agent="Done.", tool_calls=[ToolCall(name="look_up", args={})], **gaps),
        Turn(turn_index=1, user="thanks", agent="Bye."),
    ]
    return Sample(Conversation(conversation_id="c", turns=turns), golden, Record("f", 1, b"{}"))


def golden(**fields: Any) -> EvalCase:
    first = ExpectedTurn(user="q", response="Done.", tool_calls=[ToolCall(name="look_up", args={})])
    return EvalCase(
        eval_id="e", turns=[first, ExpectedTurn(user="thanks", response="Bye.", tool_calls=[])], **fields
    )


def measured(*names: str) -> list[Any]:
    return [CRITERIA[name]() for name in names]


WRONG = golden()
WRONG.turns[1].response = "Something else entirely."
CALLS_UNKNOWN, WORDS_UNKNOWN = {"unknown_calls": "why"}, {"unknown_words": "why"}


@pytest.mark.parametrize(
    ("case", "gaps", "values", "status"),
    [
        (golden(), CALLS_UNKNOWN, {"tool_trajectory_avg_score": ["why", 1.0, 1.0]}, None),
        (golden(), CALLS_UNKNOWN, {"tool_effects_v1": ["why", 1.0, 1.0]}, None),
        (golden(), CALLS_UNKNOWN, {"tool_call_count_v1": ["why", 0.0, 0.0]}, None),
        (golden(), CALLS_UNKNOWN, {"response_match_score": [1.0, 1.0, 1.0]}, None),
        (golden(), WORDS_UNKNOWN, {"response_match_score": ["why", 1.0, 1.0]}, None),
        (golden(), WORDS_UNKNOWN, {"tool_trajectory_avg_score": [1.0, 1.0, 1.0]}, None),
        (EvalCase(eval_id="e", actions=[]), CALLS_UNKNOWN, {"tool_effects_v1": ["turn 0: why"]}, None),
        (WRONG, CALLS_UNKNOWN, {"response_match_score": [1.0, 0.0, 0.5]}, "FAIL"),
    ],
)
def test_what_rests_on_a_gap_is_unscored_and_nothing_passes(case, gaps, values, status):
    scored = score_conversation(gap_case(case, **gaps), measured(*values))
    for scores in scored.scores:
        held = [score for _, score in scores.turns] + ([scores.overall] if scores.overall else [])
        found = [score.reason if score.value is None else score.value for score in held]
        assert found == values[scores.criterion.name]
        assert "why" not in found or (scores.overall and scores.overall.outcome is None)
    decided = decide(scored, RUN)
    assert decided.verdict.status == status
    if status is None:
        assert decided.verdict.reasons[0] == "turn 0: why"
        assert "evaluationStatus" not in decided.results[0]["result"]
        assert "turn 0: why" in decided.results[0]["result"]["errorInfo"]["errorMessage"]


def test_a_judge_is_not_asked_about_what_the_log_does_not_show(scripted):
    judge = scripted(lambda question, number: "asked")
    case = gap_case(golden(), unknown_calls="why")
    names = (
        "hallucinations_v1",
        "multi_turn_tool_use_quality_v1",
        "final_response_match_v2",
        "hallucination",
    )
    scored = score_conversation(case, [])
    criteria = [CRITERIA[name]() for name in (*names, "hallucination")]
    assert all(isinstance(criterion, JudgedCriterion) for criterion in criteria)
    asyncio.run(judge_conversation(scored, criteria, judge))  # type: ignore[arg-type]
    reasons = {e.criterion.name: [score.reason for _, score in e.turns] for e in scored.scores}
    assert reasons["hallucinations_v1"] == ["why", "turn 0: why"]
    assert reasons["hallucination"] == ["why"]
    assert set(reasons["final_response_match_v2"]) == {"asked"}
    assert scored.scores[1].overall.reason == "turn 0: why"  # type: ignore[union-attr]
    assert scored.failures == []


def of_ces(kind: str, *expectations: Expectation) -> EvalCase:
    if kind == "scenario":
        wanted = list(expectations)
        return EvalCase(
            eval_id="e", kind="scenario", dialect="ces", expectations=wanted, user_goal_enabled=False
        )
    turn = ExpectedTurn(user="q", expectations=list(expectations))
    return EvalCase(eval_id="e", dialect="ces", turns=[turn])


LOOK_UP = Expectation("tool_call", tool_call=ToolCall(name="look_up", args={}))
DELETE = Expectation("tool_call", tool_call=ToolCall(name="delete", args={}))
WORDING = Expectation("agent_response", text="Deleted.", comparison="EQUALS")


def ces_decision(case: EvalCase, **gaps: Any) -> Any:
    turn = Turn(user="q", agent="Done.", tool_calls=[ToolCall(name="look_up", args={})], **gaps)
    matched = Sample(Conversation(conversation_id="c", turns=[turn]), case, Record("f", 1, b"{}"))
    return decide(score_conversation(matched, []), RUN)


SPOKEN = Expectation("agent_response", text="Done.", comparison="EQUALS")


@pytest.mark.parametrize(
    ("expectations", "gaps", "status"),
    [
        ((LOOK_UP, SPOKEN), {}, "PASS"),
        ((LOOK_UP, SPOKEN), {"unknown_calls": "why"}, None),
        ((LOOK_UP, SPOKEN), {"unknown_words": "why"}, None),
        ((LOOK_UP, DELETE, SPOKEN), {}, "FAIL"),
        ((LOOK_UP, WORDING), {"unknown_calls": "why"}, "FAIL"),
        ((LOOK_UP, WORDING), {"unknown_words": "why"}, None),
        ((Expectation("no_tool_calls"), SPOKEN), {"unknown_calls": "why"}, "FAIL"),
        ((LOOK_UP, Expectation("agent_transfer", target_agent="x"), SPOKEN), {"unknown_calls": "why"}, None),
    ],
)
def test_golden_ces_cases_are_decided_by_what_is_certain(expectations, gaps, status):
    decided = ces_decision(of_ces("golden", *expectations), **gaps)
    assert decided.verdict.status == status
    (turn,) = decided.results[0]["result"]["goldenResult"]["turnReplayResults"]
    assert ("overallToolInvocationResult" in turn) == (
        "unknown_calls" not in gaps and expectations[0].tool_call is not None
    )


@pytest.mark.parametrize(
    ("expectations", "gaps", "status"),
    [
        ((LOOK_UP,), {}, "PASS"),
        ((LOOK_UP,), {"unknown_calls": "why"}, None),
        ((DELETE,), {}, "FAIL"),
        ((DELETE,), {"unknown_calls": "why"}, None),
        ((DELETE,), {"unknown_words": "why"}, "FAIL"),
    ],
)
def test_ces_scenarios_are_decided_by_what_is_certain(expectations, gaps, status):
    assert ces_decision(of_ces("scenario", *expectations), **gaps).verdict.status == status


def test_no_calls_are_not_certain_where_calls_may_be_missing():
    case = of_ces("golden", Expectation("no_tool_calls"), SPOKEN)
    turn = Turn(user="q", agent="Done.", unknown_calls="why")
    matched = Sample(Conversation(conversation_id="c", turns=[turn]), case, Record("f", 1, b"{}"))
    decided = decide(score_conversation(matched, measured("expectations_met")), RUN)
    assert decided.verdict.status is None
    assert decided.scores[0].reason == "why"


def test_the_result_of_a_plain_golden_says_nothing_about_calls_that_may_be_missing():
    missed = golden()
    missed.turns[0].tool_calls = [ToolCall(name="delete", args={})]
    decided = decide(score_conversation(gap_case(missed, unknown_calls="why"), []), RUN)
    first, second = decided.results[0]["result"]["goldenResult"]["turnReplayResults"]
    assert "outcome" not in first["expectationOutcome"][0]
    assert "overallToolInvocationResult" not in first
    assert second["expectationOutcome"][0]["outcome"] == "PASS"


def test_findings_are_rows_with_their_place():
    conversation = read(canonical(toolCalls=[{"name": "f"}]))
    case = Sample(conversation, None, Record("f.jsonl", 7, b"{}"))
    (row,) = score_conversation(case, []).failures
    assert (row.stage, row.error_type, row.source, row.position) == ("check", "UnreadPart", "f.jsonl", 7)
    assert (row.conversation_id, row.turn_index) == ("c", 0)
