import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.tables import rows_test
from turnwise.schemas.adk import Content, Invocation, read_log
from turnwise.transforms.formats.adk_cases import (
    adk_text,
    eval_cases,
    invocation_expected,
    invocation_turn,
    text,
)

SHARED = Path(__file__).parents[3] / "../shared"


test_rows = rows_test(globals(), "adk")


def said(*texts):
    return {"parts": [{"text": words} for words in texts], "role": "model"}


def turn_of(value):
    return invocation_turn(read_log(Invocation, value), 3)


def words(parts, words, adk_words):
    content = Content.model_validate({"parts": parts})
    assert (text(content), adk_text(content)) == (words, adk_words)


@pytest.mark.parametrize("final", [None, {"parts": []}, said("")])
def test_no_words(final):
    silent = {"user_content": said("q"), "final_response": final}
    assert turn_of(silent).agent == ""
    expected = invocation_expected(read_log(Invocation, silent))
    # Where the user's words stand alone, nothing is stated of calls.
    assert (expected.response, expected.tool_calls) == (None, None if final is None else [])


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
        made = [replace(call, agent=None) for call in turn.tool_calls]
        assert repr(made) == repr(same.tool_calls or [])
