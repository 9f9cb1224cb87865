"""No value of any type crashes a reader: it reads the record, or says in one line why not."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import read_value
from tests.transforms.formats.test_readings import READINGS
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader
from turnwise.transforms.formats.registry import FORMATS, ReadSettings

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
FORMS = [
    (reading["reads"][0]["source"], record)
    for name, reading in READINGS.items()
    if name.startswith("messages/dialects: every form")
    for record in reading["records"]
    if isinstance(record, dict)
]
MESSAGES = {}
for source, record in FORMS:
    for key in {"messages", "input", "contents"} & record.keys():
        MESSAGES[source] = (key, [*MESSAGES.get(source, ("", []))[1], *record[key]])
CALLS = {source: messages[1] for source, (_, messages) in MESSAGES.items()}
CALLS["openai_responses"] = MESSAGES["openai_responses"][1][3:5]
REPLIES = [
    {"object": "response", "output": CALLS["openai_responses"], "usage": {"input_tokens": 1}, "error": None},
    {"type": "message", "content": CALLS["anthropic_messages"]["content"], "stop_reason": "x", "usage": {}},
    {"output": {"message": CALLS["bedrock_converse"]}, "stopReason": "x", "metrics": {"latencyMs": 1}},
    {"candidates": [{"content": CALLS["gemini_contents"], "finishReason": "STOP"}], "usageMetadata": {}},
    {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "x"}}], "usage": {}},
]


ERRORS = ("ValueError", "UnknownFormatError", "CaseInLogsError", "UnreadMessagesError")


def places(value, path=()):
    """Yields the paths of everything inside a JSON value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


@st.composite
def changed(draw, value):
    """Draws a JSON value in which a few places hold anything."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(value))))
        holder = value
        for key in path:
            holder = holder[key]
        holder[last] = draw(VALUES)
        if not value:
            break
    return value


def attempt(name, value):
    record = Record("log.json", 1, json.dumps(value).encode())
    kind = FORMATS[name]
    try:
        if kind.events:
            session, _ = kind.events.locate(value)
            found = [kind.events.join(session, [value, value])]
        else:
            found = kind.read_log(value, record, ReadSettings())
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert len(found) == 1


@pytest.mark.parametrize("name", MESSAGES)
@given(data=st.data())
def test_messages(name, data):
    key, messages = MESSAGES[name]
    attempt(name, data.draw(changed({key: messages, "tools": []})))


EXAMPLES = {
    name: reading["records"][0]
    for name, reading in READINGS.items()
    if name.startswith("records/examples: ") and "conversations" in reading
}


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
def test_examples(name, data):
    found = read_value(data.draw(changed(EXAMPLES[name])))
    assert found.conversations or found.failures
    assert {failure.error_type for failure in found.failures} <= {*ERRORS, "WireError"}


@pytest.mark.parametrize("reply", REPLIES)
@given(data=st.data())
def test_requests_with_replies(reply, data):
    request = {"messages": [{"role": "user", "content": "Hi"}]}
    attempt("model_exchange", {"request": request, "response": data.draw(changed(reply))})


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
    assert {failure.error_type for failure in found.failures} <= {*ERRORS}


@pytest.mark.parametrize("value", CASES)
@given(data=st.data())
def test_cases(value, data):
    record = Record("cases.yaml", 1, json.dumps(data.draw(changed(value))).encode())
    try:
        CaseReader(CesConfig()).read(record)
    except ValueError as error:
        assert "\n" not in str(error)
