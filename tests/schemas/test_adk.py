import pytest
from pydantic import ValidationError

from tests.tables import rows_test
from turnwise.schemas import adk
from turnwise.schemas.adk import (
    AdkSession,
    Content,
    EvalSetResult,
    EvalStatus,
    Invocation,
    InvocationEvents,
    read_log,
)

USER = {"parts": [{"text": "q"}]}


test_rows = rows_test(globals(), "adk")


def accepts(model, value):
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


def content(value):
    """It is accepted as google-genai does."""
    types = pytest.importorskip("google.genai.types")
    assert accepts(Content, value) == accepts(types.Content, value)


def strict(model, value, accepted):
    assert accepts(getattr(adk, model), value) == accepted


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
