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

from tests.tables import stated
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


def converted_to(target, given):
    kind = EvalCase if "eval_id" in given else Conversation
    return converted(msgspec.convert(given, kind), TARGETS[target])


@stated("lost", "targets, given, not_held, added, text")
def test_what_a_target_does_not_hold_is_counted_by_field(targets, given, not_held, added, text):
    """Formats that state calls take those that are not stated for calls that may not happen: added ones."""
    for target in targets:
        done = converted_to(target, given)
        assert (dict(done.not_held), dict(done.added)) == (not_held, added), target
        assert text in json.dumps(done.record)


@stated("expected", "turn, expected")
def test_what_a_recording_expects(turn, expected):
    log = msgspec.convert({"conversation_id": "c", "turns": [{"user": "a", **turn}]}, Conversation)
    (own,) = recorded_case(log).turns
    found = {key: msgspec.to_builtins(getattr(own, key)) for key in expected}
    assert {**found, "tool_calls": own.tool_calls and [call.name for call in own.tool_calls]} == expected
    assert own.tool_calls is not None or "noToolCalls" not in str(converted(log, TARGETS["ces_evaluation"]))


@pytest.mark.parametrize("target", ["openai_chat", "adk_eval_set", "ces_evaluation"])
def test_a_case_without_turns_is_refused(target):
    with pytest.raises(ValueError, match="has no turns"):
        converted_to(target, {"eval_id": "e", "actions": [{"name": "book"}]})


@stated("steps", "turn, steps")
def test_an_eval_set_has_no_more_steps_than_calls_and_texts_need(turn, steps):
    (invocation,) = converted_to("adk_eval_set", {"conversation_id": "c", "turns": [turn]}).record[
        "conversation"
    ]
    assert len(invocation["intermediate_data"]["invocation_events"]) == steps


ROWS = [json.loads(line) for line in Path(__file__).with_name("rows").joinpath("convert.jsonl").open()]
RICH = {
    "conversation_id": "c",
    "tags": ["t"],
    "turns": [row["steps"][0] for row in ROWS if "steps" in row][-1:],
}
CASES = [row["lost"][1] for row in ROWS if "lost" in row and "eval_id" in row["lost"][1]]
SCHEMAS = Path(__file__).parents[4] / "shared/reference/adk_json_schemas.json"


@pytest.mark.skipif(not SCHEMAS.is_file(), reason="the shared schemas are not here")
def test_eval_sets_are_valid_by_the_schemas_of_google_adk():
    case = EvalCase(eval_id="s", kind="scenario", task="Book", rubrics=[Rubric("0", "Polite", "t")])
    case.session_state, case.final_session_state = {"a": 1}, {"b": 2}
    target = TARGETS["adk_eval_set"]
    others = [converted_to("adk_eval_set", log) for log in (RICH, *CASES)]
    records = [converted(case, target).record, *(own.record for own in others)]
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
    for log in (RICH, *CASES):
        message = converted_to("ces_evaluation", log).record
        assert ces_v1beta.Evaluation.from_json(json.dumps(message)).golden.turns


def test_differences_tell_true_from_1_and_none_from_an_empty_list():
    one, other = (ExpectedTurn(user="a", tool_calls=calls) for calls in (None, []))
    assert Differences().compare(one, other).added == {"tool_calls": 1}
    assert Differences().compare(other, one).not_held == {"tool_calls": 1}
    left, right = ToolCall("f", {"a": [True]}), ToolCall("f", {"a": [1]})
    assert Differences().compare(left, right).not_held == {"args": 1}
    assert not Differences().compare(ToolCall("f", {"a": 1}), ToolCall("f", {"a": 1.0})).not_held
