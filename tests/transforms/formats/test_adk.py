import json
from pathlib import Path

import pytest

from turnwise.schemas.adk import Content, Invocation, read_log
from turnwise.schemas.conversation import Rubric, ToolCall, Usage
from turnwise.transforms.formats.adk_cases import (
    adk_text,
    eval_cases,
    invocation_expected,
    invocation_turn,
    text,
)
from turnwise.transforms.formats.adk_formats import eval_result_conversations

SHARED = Path(__file__).parents[3] / "../shared"


def said(*texts):
    return {"parts": [{"text": words} for words in texts], "role": "model"}


def invocation(final="done", **fields):
    return {"user_content": said("q"), "final_response": said(final), **fields}


def turn_of(value):
    return invocation_turn(read_log(Invocation, value), 3)


EVENTS = {
    "invocation_events": [
        {
            "author": "root",
            "content": {
                "parts": [{"text": "Looking."}, {"function_call": {"name": "find", "args": {"x": 1}}}]
            },
            "usage_metadata": {
                "prompt_token_count": 10,
                "tool_use_prompt_token_count": 2,
                "candidates_token_count": 5,
                "thoughts_token_count": 3,
            },
        },
        {
            "author": "root",
            "content": {"parts": [{"function_response": {"name": "find", "response": {"n": 1}}}]},
        },
        {
            "author": "root",
            "content": {
                "parts": [{"functionCall": {"name": "transfer_to_agent", "args": {"agent_name": "sub"}}}]
            },
            "modelVersion": "gemini",
        },
        {"author": "sub", "content": None, "usage_metadata": {"prompt_token_count": 1}},
    ]
}


@pytest.mark.parametrize(
    ("parts", "words", "adk_words"),
    [
        (None, "", None),
        ([{"text": "a"}, {"text": ""}, {"text": "b"}], "a\nb", None),
        ([{"text": "hm", "thought": True}, {"text": "b"}], "b", "hm\nb"),
        ([{"text": "hm", "thought": True}], "", "hm"),
        ([{"function_call": {"name": "f"}}], "", None),
    ],
)
def test_text(parts, words, adk_words):
    content = Content.model_validate({"parts": parts})
    assert (text(content), adk_text(content)) == (words, adk_words)


def test_turn_with_events():
    turn = turn_of(invocation(intermediate_data=EVENTS, duration=1.5, model_duration=1, creation_timestamp=7))
    assert (turn.turn_index, turn.user, turn.agent, turn.adk_text) == (3, "q", "done", None)
    assert [(call.name, call.args) for call in turn.tool_calls] == [
        ("find", {"x": 1}),
        ("transfer_to_agent", {"agent_name": "sub"}),
    ]
    assert [answer.response for answer in turn.tool_responses] == [{"n": 1}]
    assert turn.agent_messages == ["Looking.", "done"]
    assert turn.transfers == ["sub"]
    assert (turn.latency_ms, turn.model_ms, turn.tool_ms, turn.timestamp) == (1500.0, 1000.0, None, 7.0)
    assert turn.inference_calls == 3
    assert turn.usage == Usage(input_tokens=13, output_tokens=8, reasoning_tokens=3)


def test_turn_with_the_older_data():
    data = {
        "tool_uses": [{"name": "a", "args": None, "id": "1"}],
        "tool_responses": [{"name": "a", "id": "1", "response": {"ok": True}}],
        "intermediate_responses": [["root", [{"text": "One"}, {"text": "moment"}]]],
    }
    turn = turn_of(invocation(intermediate_data=data))
    assert turn.tool_calls == [ToolCall(name="a", id="1")]
    assert turn.tool_responses[0].response == {"ok": True}
    assert turn.agent_messages == ["One\nmoment", "done"]
    assert (turn.inference_calls, turn.usage) == (None, None)


@pytest.mark.parametrize("final", [None, {"parts": []}, said("")])
def test_no_words(final):
    silent = {"user_content": said("q"), "final_response": final}
    assert turn_of(silent).agent == ""
    expected = invocation_expected(read_log(Invocation, silent))
    assert (expected.response, expected.tool_calls) == (None, [])


def test_eval_set():
    rubric = {"rubric_id": "r", "rubric_content": {"text_property": "polite"}, "type": "TOOL_USE_QUALITY"}
    golden = {
        "evalId": "g",
        "conversation": [invocation(rubrics=[rubric], intermediate_data={"tool_uses": [{"name": "a"}]})],
        "session_input": {"app_name": "a", "user_id": "u", "state": {"city": "Paris"}},
        "rubrics": [rubric],
        "final_session_state": {"n": 1},
    }
    script = {"starting_prompt": "Hello", "conversation_plan": "Book a flight.", "user_persona": "NOVICE"}
    scenario = {"eval_id": "s", "conversation_scenario": script}
    first, second = eval_cases({"eval_set_id": "x", "eval_cases": [golden, scenario]})
    wanted = Rubric(rubric_id="r", text="polite", type="TOOL_USE_QUALITY")
    assert (first.eval_id, first.kind, first.dialect) == ("g", "golden", "adk")
    assert (first.rubrics, first.turns[0].rubrics) == ([wanted], [wanted])
    assert first.turns[0].tool_calls == [ToolCall(name="a")]
    assert (first.session_state, first.final_session_state) == ({"city": "Paris"}, {"n": 1})
    assert (second.kind, second.task, second.turns) == ("scenario", "Book a flight.", [])
    assert {fact.name: fact.value for fact in second.user_facts} == {
        "starting_prompt": "Hello",
        "user_persona": "NOVICE",
    }
    assert (first.key, second.key) == (("x", "g"), ("x", "s"))
    (alone,) = eval_cases(scenario)
    assert (alone.key, alone.task) == (("", "s"), second.task)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"eval_set_id": "s"}, "eval_cases: Field required"),
        ({"eval_id": "e"}, "exactly one of conversation"),
        (
            {"eval_id": "e", "conversation": [invocation(colour=1)]},
            "conversation.0.colour: Extra inputs are not permitted$",
        ),
        (
            {"eval_id": "e", "conversation": [invocation(colour=1, shape=2)]},
            r"Extra inputs are not permitted \(and 1 more\)$",
        ),
    ],
)
def test_refused_eval_sets(value, message):
    with pytest.raises(ValueError, match=message) as caught:
        eval_cases(value)
    assert "\n" not in str(caught.value)


def result(session_id, *pairs, **fields):
    return {
        "eval_id": "e",
        "final_eval_status": 2,
        "overall_eval_metric_results": [{"metric_name": "m", "score": 0.5, "eval_status": 2, "surprise": 1}],
        "eval_metric_result_per_invocation": list(pairs),
        "session_id": session_id,
        **fields,
    }


def test_eval_results():
    rubric = {"rubric_id": "r", "rubric_content": {"text_property": "polite"}}
    pair = {
        "actual_invocation": invocation("said", rubrics=[rubric]),
        "expected_invocation": invocation("wanted"),
    }
    alone = {"actualInvocation": invocation("said"), "expectedInvocation": None}
    state = {"state": {"app_version": "v2", "n": 1}}
    document = {
        "eval_set_result_id": "run",
        "eval_set_id": "set",
        "eval_case_results": [
            result("one", pair, alone, session_details=state, eval_set_id="of case"),
            result("two"),
            result("two", session_details={"state": {"app_version": 2}}),
        ],
    }
    first, second, third = eval_result_conversations(document)
    names = [c.conversation_id for c in (first, second, third)]
    assert names == ["one", "run/e/1", "run/e/2"]
    assert (first.eval_id, first.app_version, first.state["n"]) == ("e", "v2", 1)
    assert first.labels == {"final_eval_status": "FAILED", "metrics": {"m": 0.5}}
    assert [turn.agent for turn in first.turns] == ["said", "said"]
    assert first.turns[0].expected.response == "wanted"
    assert first.turns[0].expected.rubrics == [Rubric(rubric_id="r", text="polite")]
    assert first.turns[1].expected is None
    assert (second.turns, third.app_version) == ([], None)
    assert eval_result_conversations(document["eval_case_results"][0]) == [first]
    assert [c.eval_set_id for c in (first, second, third)] == ["of case", "set", "set"]


def edge_cases():
    path = SHARED / "fixtures/adk/edge_cases.json"
    return json.loads(path.read_text())["cases"] if path.exists() else []


@pytest.mark.skipif(not SHARED.exists(), reason="no shared data")
@pytest.mark.parametrize("case", edge_cases(), ids=lambda case: case["name"])
def test_edge_cases_are_refused_where_google_adk_refuses_them(case):
    refused = "parse_error" in case["oracle"]["evaluator"]
    both = {
        "eval_set_id": "s",
        "eval_cases": [
            {"eval_id": "a", "conversation": case["actual"]},
            {"eval_id": "e", "conversation": case["expected"]},
        ],
    }
    if refused:
        with pytest.raises(ValueError, match=r"^not an ADK eval set: eval_cases.0.conversation.0"):
            eval_cases(both)
        return
    actual, expected = eval_cases(both)
    turns = [turn_of(value) for value in case["actual"]]
    assert len(turns) == len(actual.turns) and len(expected.turns) == len(case["expected"])
    for turn, same in zip(turns, actual.turns, strict=True):
        assert (turn.agent or None, turn.adk_text) == (same.response, same.adk_text)
        assert repr(turn.tool_calls) == repr(same.tool_calls)
