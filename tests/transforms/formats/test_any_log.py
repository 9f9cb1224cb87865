"""No value of any type crashes the readers of whole files and of eval cases."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import read_value
from tests.transforms.formats.messages.test_any_values import changed
from tests.transforms.formats.test_readings import READINGS
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader

SESSIONS = [
    READINGS[f"messages/agents: {name}"]["records"][0]
    for name in ("results of parallel calls are no other branch", "a session of codex")
]
ASKS = {
    "type": "assistant",
    "session_id": "s",
    "message": {"content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
}
STREAM = {"messages": [{"direction": "recv", "message": ASKS}]}
INSPECT = {
    "eval": {"run_id": "r"},
    "samples": [{"id": 1, "messages": [{"role": "user", "content": "a"}], "scores": {"x": {"value": 1}}}],
}
CHECK = {"type": "tool_called", "value": "f"}
CASES = [
    {"common_session_parameters": {}, "conversations": [{"conversation": "a", "turns": [
        {"user": "a", "agent": "b", "tool_calls": [{"action": "f", "args": {}, "output": 1}]}]}]},
    {"conversations": [{"conversation": "a", "user": "b", "expectations": [CHECK]}]},
    {"evals": [{"name": "a", "steps": [{"goal": "b", "response_guide": "c"}], "expectations": ["d"]}]},
    [{"display_name": "a", "turn_index": "", "action_type": ""},
     {"display_name": None, "turn_index": "1", "action_type": "INPUT_TEXT", "text_content": "b"}],
]  # fmt: skip


@pytest.mark.parametrize("value", [*SESSIONS, STREAM, INSPECT])
@given(data=st.data())
def test_logs(value, data):
    found = read_value(data.draw(changed(value)))
    assert {failure.error_type for failure in found.failures} <= {
        "ValueError",
        "UnknownFormatError",
        "CaseInLogsError",
    }


@pytest.mark.parametrize("value", CASES)
@given(data=st.data())
def test_cases(value, data):
    record = Record("cases.yaml", 1, json.dumps(data.draw(changed(value))).encode())
    try:
        CaseReader(CesConfig()).read(record)
    except ValueError as error:
        assert "\n" not in str(error)
