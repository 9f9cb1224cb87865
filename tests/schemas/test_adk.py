import pytest
from pydantic import ValidationError

from turnwise.schemas.adk import (
    AdkEvalCase,
    AdkSession,
    AdkSessionInput,
    Content,
    EvalSet,
    EvalSetResult,
    EvalStatus,
    Invocation,
    InvocationEvents,
    read_log,
)

USER = {"parts": [{"text": "q"}]}


def case(**fields):
    return {"eval_id": "e", "conversation": [], **fields}


CONTENTS = [
    {},
    {"parts": None},
    {"parts": [{}]},
    {"parts": [None]},
    {"parts": [{"text": 1}]},
    {"parts": [{"text": None, "inline_data": None}]},
    {"parts": [{"text": "a", "thought": "yes"}]},
    {"parts": [{"text": "a", "bold": True}]},
    {"parts": [{"function_call": {"name": "a", "willContinue": True}}]},
    {"parts": [{"function_call": {"name": "a", "args": '{"x": 1}'}}]},
    {"parts": [{"function_call": {"name": "a", "type": "function"}}]},
    {"parts": [{"function_call": {}, "functionCall": {}}]},
    {"parts": [{"function_response": {"name": "a", "response": [1]}}]},
    {"parts": [{"inline_data": {"mime_type": "image/png"}}, {"text": "seen"}]},
    {"parts": [], "author": "x"},
]


@pytest.mark.parametrize("value", CONTENTS, ids=str)
def test_contents_are_accepted_as_google_genai_does(value):
    types = pytest.importorskip("google.genai.types")
    assert accepts(Content, value) == accepts(types.Content, value)


def accepts(model, value):
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("model", "value", "accepted"),
    [
        (AdkEvalCase, case(colour="red"), True),
        (AdkEvalCase, {"eval_id": "e"}, False),
        (AdkEvalCase, case(conversation=None), False),
        (AdkEvalCase, case(conversation_scenario={"starting_prompt": "a", "conversation_plan": "b"}), False),
        (AdkEvalCase, case(rubrics=[{"rubric_id": "r", "rubric_content": "polite"}]), False),
        (AdkEvalCase, case(rubrics=[{"rubricId": "r", "rubric_content": {"textProperty": "polite"}}]), True),
        (EvalSet, {"evalSetId": "s", "evalCases": []}, False),
        (Invocation, {"userContent": USER, "intermediateData": {"toolUses": []}}, True),
        (Invocation, {"user_content": USER, "userContent": USER}, False),
        (Invocation, {"user_content": USER, "colour": 1}, False),
        *(
            (Invocation, {"user_content": USER, "intermediate_data": steps}, accepted)
            for steps, accepted in (
                ({"tool_uses": None}, False),
                ({"tool_uses": [], "invocation_events": []}, False),
                ({"intermediate_responses": [["a", [{"text": "x"}]]]}, True),
                ({"invocation_events": [{"author": "a", "id": "x"}]}, True),
                ({"invocation_events": [{"content": None}]}, False),
            )
        ),
        (AdkSessionInput, {"app_name": "a", "userId": "u", "other": 1}, True),
    ],
)
def test_strict_reading(model, value, accepted):
    assert accepts(model, value) == accepted


@pytest.mark.parametrize(
    ("persona", "accepted"),
    [("EXPERT", True), ({"id": "p", "description": "d", "behaviors": []}, True), ({"id": "p"}, False)],
)
def test_personas(persona, accepted):
    scenario = {"startingPrompt": "a", "conversation_plan": "b", "user_persona": persona}
    assert accepts(AdkEvalCase, {"eval_id": "e", "conversation_scenario": scenario}) == accepted


def test_an_empty_object_is_the_older_intermediate_form():
    parsed = Invocation.model_validate({"user_content": USER, "intermediate_data": {}})
    assert not isinstance(parsed.intermediate_data, InvocationEvents)


def test_logs_are_read_leniently():
    call = {"name": "a", "args": '{"x": 1}', "type": "function"}
    answer = {"name": "a", "response": [1, 2], "status": "ok"}
    invocation = {
        "userContent": USER,
        "colour": 1,
        "creation_timestamp": None,
        "intermediate_data": {
            "tool_uses": [call],
            "tool_responses": [answer],
            "intermediate_responses": None,
        },
    }
    data = read_log(Invocation, invocation).intermediate_data
    assert data.tool_uses[0].args == {"x": 1}
    assert data.tool_responses[0].response == {"result": [1, 2]}
    assert data.intermediate_responses == []


def test_lenient_reading_still_names_what_is_missing():
    with pytest.raises(ValidationError, match="userContent"):
        read_log(Invocation, {"final_response": USER})


def test_results_and_sessions_need_little():
    assert read_log(AdkSession, {"id": "s", "events": None, "context": {}}).events == []
    results = read_log(
        EvalSetResult, {"evalCaseResults": [{"finalEvalStatus": 2, "sessionDetails": {"x": 1}}]}
    )
    assert results.eval_case_results[0].final_eval_status is EvalStatus.FAILED
