import pytest

from turnwise.transforms.formats.adk_cases import legacy_cases

ROW = {
    "query": "turn it off",
    "expected_tool_use": [{"tool_name": "off", "tool_input": {"id": 1}, "mock_tool_output": "x"}],
    "expected_intermediate_agent_responses": [{"author": "a", "text": "One moment"}],
    "reference": "It is off.",
}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ([ROW, ROW], ["stem"]),
        ([{"name": "a", "data": [ROW]}, {"name": "b", "data": [], "initial_session": {}}], ["a", "b"]),
    ],
)
def test_either_kind_of_file(value, names):
    assert [case.eval_id for case in legacy_cases(value, "stem")] == names


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"reference": "x"}], "data.0.query: Field required"),
        (
            [{"query": "q", "expected_tool_use": [{"tool_name": "a"}]}],
            "tool_use.0.tool_input: Field required",
        ),
    ],
)
def test_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        legacy_cases(rows, "x")
