"""What is written is read back as it was, but for what the target is said not to hold."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from google.cloud import ces_v1beta
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

import turnwise
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    ExpectedTurn,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    Usage,
)
from turnwise.transforms.decisions.conversion import TARGETS, Differences, converted
from turnwise.transforms.matching.sample import recorded_case

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<[{`\x00"), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
ANSWERS = OBJECTS.filter(lambda answer: "error" not in answer)
"""Without the key that marks a failed answer in CES."""
COUNTS = st.integers(0, 10**6)


@st.composite
def turns(draw: st.DrawFn, index: int) -> Turn:
    """Draws a turn of which every call has a name, an id and an answer."""
    names = draw(st.lists(st.sampled_from(["find", "book", "tell"]), max_size=3))
    calls = [ToolCall(name, draw(OBJECTS), f"c{index}-{i}") for i, name in enumerate(names)]
    answers = [ToolResponse(call.name, call.id, draw(ANSWERS)) for call in calls]
    said = draw(WORDS)
    usage = Usage(draw(COUNTS), draw(COUNTS)) if draw(st.booleans()) else None
    return Turn(
        turn_index=index, user=draw(WORDS), agent=said, tool_calls=calls, tool_responses=answers, usage=usage
    )


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Draws a conversation."""
    made = [draw(turns(index)) for index in range(draw(st.integers(1, 3)))]
    return Conversation(conversation_id=draw(st.uuids()).hex, turns=made)


LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
HELD = {"turnwise": set(), "openai_chat": set(), "adk_eval_set": set(), "ces_evaluation": {"turns.usage"}}


@pytest.mark.parametrize("target", HELD)
@LAW
@given(conversation=conversations())
def test_a_plain_conversation_is_held(target, conversation):
    done = converted(conversation, TARGETS[target])
    assert set(done.not_held) <= HELD[target] and not done.added
    assert json.loads(json.dumps(done.record)) == done.record


CALL = ToolCall("book", {"people": 2})
CASES = [
    EvalCase(eval_id="e", turns=[ExpectedTurn(user="Hi", response="Hello", tool_calls=[CALL])]),
    EvalCase(eval_id="e", turns=[ExpectedTurn(user="Hi", response="Hello", tool_calls=[])]),
    EvalCase(
        eval_id="e", turns=[ExpectedTurn(user="a", tool_calls=[CALL]), ExpectedTurn(user="b", response="c")]
    ),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", ["turnwise", "adk_eval_set", "ces_evaluation"])
def test_a_golden_case_is_held_but_for_what_is_named(target, case):
    done = converted(case, TARGETS[target])
    assert not done.not_held
    # Both formats take calls that are not stated for calls that may not happen.
    unstated = any(turn.tool_calls is None for turn in case.turns) and target != "turnwise"
    assert set(done.added) == ({"turns.tool_calls"} if unstated else set())


def test_what_a_target_lacks_is_counted_by_field():
    turn = Turn(user="a", agent="b", latency_ms=5.0, tool_calls=[CALL, CALL], variables={"x": 1})
    log = Conversation("c", app_version="v1", turns=[turn, msgspec.structs.replace(turn)])
    done = converted(log, TARGETS["openai_chat"])
    assert dict(done.not_held) == {"turns.latency_ms": 2, "turns.variables": 2}
    lost = converted(log, TARGETS["ces_evaluation"]).not_held
    assert lost["app_version"] == 1 and lost["turns.latency_ms"] == 2 and "turns.tool_calls" not in lost


def test_expectations_go_before_the_recording():
    turn = Turn(user="a", agent="wrong", expected=ExpectedTurn(response="right", tool_calls=[]))
    done = converted(Conversation("c", turns=[turn]), TARGETS["adk_eval_set"])
    (case,) = turnwise.read_cases({"eval_set_id": "s", "eval_cases": [done.record]})
    assert case.turns[0].response == "right" and done.not_held == {"turns.agent": 1}


def test_calls_and_words_that_may_be_missing_are_not_expected():
    turn = Turn(user="a", agent="b", unknown_calls="a part is not read", unknown_words="another")
    log = Conversation("c", turns=[turn])
    (expected,) = recorded_case(log).turns
    assert (expected.tool_calls, expected.response) == (None, None)
    assert "noToolCalls" not in str(converted(log, TARGETS["ces_evaluation"]).record)


def test_what_a_tool_called_and_the_answer_itself_are_no_expectations_of_their_own():
    calls = [CALL, ToolCall("inner", inside=CALL.id or "1")]
    turn = Turn(user="a", agent="one two", agent_messages=["one", "two"], tool_calls=calls)
    (expected,) = recorded_case(Conversation("c", turns=[turn])).turns
    assert [call.name for call in expected.tool_calls] == [CALL.name]
    assert (expected.intermediate_responses, expected.response) == (["one"], "one two")


@pytest.mark.parametrize("target", ["openai_chat", "adk_eval_set", "ces_evaluation"])
def test_a_case_without_turns_is_refused(target):
    with pytest.raises(ValueError, match="has no turns"):
        converted(EvalCase(eval_id="e", actions=[CALL]), TARGETS[target])


SCHEMAS = Path(__file__).parents[4] / "shared/reference/adk_json_schemas.json"
RICH = Turn(
    user="Hi",
    agent="Done",
    agent_messages=["One moment", "Done"],
    adk_text="Hm\nDone",
    tool_calls=[ToolCall("book", {"people": 2}, "t")],
    tool_responses=[ToolResponse("book", "t", "ok")],
    transfers=["other"],
    usage=Usage(1, 2, 3, 1),
    inference_calls=2,
    latency_ms=3.0,
    timestamp=5.0,
)


@pytest.mark.parametrize(
    ("turn", "steps"),
    [(Turn(user="a", agent="b"), 0), (Turn(user="a", agent="b", usage=Usage(1)), 1), (RICH, 3)],
)
def test_an_eval_set_has_no_more_steps_than_calls_and_texts_need(turn, steps):
    (invocation,) = converted(Conversation("c", turns=[turn]), TARGETS["adk_eval_set"]).record["conversation"]
    assert len(invocation["intermediate_data"]["invocation_events"]) == steps


@pytest.mark.skipif(not SCHEMAS.is_file(), reason="the shared schemas are not here")
def test_eval_sets_are_valid_by_the_schemas_of_google_adk():
    case = EvalCase(eval_id="s", kind="scenario", task="Book", rubrics=[Rubric("0", "Polite", "t")])
    case.session_state, case.final_session_state = {"a": 1}, {"b": 2}
    target = TARGETS["adk_eval_set"]
    records = [converted(one, target).record for one in (Conversation("c", turns=[RICH]), case, *CASES)]
    assert target.document is not None
    head, tail = target.document("desk.evalset.json", records[0])
    document = json.loads(head + ",".join(map(json.dumps, records)) + tail)
    assert document["eval_set_id"] == "desk"
    document["eval_cases"] = camel(document["eval_cases"])
    jsonschema.validate(document, json.loads(SCHEMAS.read_text())["EvalSet"])


def camel(value: Any) -> Any:
    """Returns a document with the spelling of the schemas; google-adk reads both."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = ("args", "response", "state", "final_session_state")
    return {to_camel(key): item if key in own else camel(item) for key, item in value.items()}


def test_evaluations_are_accepted_by_the_client_of_the_api():
    for item in (Conversation("c", turns=[RICH], tags=["t"]), *CASES):
        message = converted(item, TARGETS["ces_evaluation"]).record
        assert ces_v1beta.Evaluation.from_json(json.dumps(message)).golden.turns


def test_differences_tell_true_from_1_and_none_from_an_empty_list():
    one, other = (ExpectedTurn(user="a", tool_calls=calls) for calls in (None, []))
    assert Differences().compare(one, other).added == {"tool_calls": 1}
    assert Differences().compare(other, one).not_held == {"tool_calls": 1}
    left, right = ToolCall("f", {"a": [True]}), ToolCall("f", {"a": [1]})
    assert Differences().compare(left, right).not_held == {"args": 1}
    assert not Differences().compare(ToolCall("f", {"a": 1}), ToolCall("f", {"a": 1.0})).not_held
