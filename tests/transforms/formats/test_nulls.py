"""A key with null is an absent key, in every reader: adding such keys or leaving them out changes nothing."""
# ruff: noqa: E501

import copy
import json
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from tests.readings import FORMATS, read, read_file, turns
from tests.transforms.formats.messages import test_any_values as messages
from tests.transforms.formats.test_readings import READINGS
from turnwise.pipeline.io.records import file_records
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import json_structure
from turnwise.transforms.formats.mapped import recognise

REPORTED = Path(__file__).parents[4] / "shared/fixtures/reported/reading"
SAMPLES = Path(__file__).parents[3] / "pipeline/sample_data"
VALUES = frozenset(
    (
        *("payload", "args", "arguments", "parameters", "state", "schema", "properties", "input_schema", "inputSchema", "json"),
        *("scores", "tools", "metadata", "updatedVariables", "defaultVariables", "variables", "structuredContent"),
        *("toolUseResult", "meta", "labels", "sessionState", "structData", "session_state", "expected", "default"),
    )
)  # fmt: skip
"""Keys that hold values of users and tools, in which null is a value."""
PERHAPS = frozenset(
    ["input", "output", "response", "result", "content", "value", "data", "inputs", "outputs", "structData"]
)
OF_CALLS = {
    *("name", "tool", "toolset", "displayName", "call_id"),
    *("tool_use_id", "toolUseId", "toolCallId", "tool_call_id"),
}
CHAT = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Where is order 5?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Bonn"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is "}, {"type": "refusal", "refusal": "gone."}]},
    {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}, "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
]  # fmt: skip
EXAMPLES = {
    "a list of messages": [CHAT],
    **{
        name: reading["records"]
        for name, reading in READINGS.items()
        if name.startswith("records/examples: ") and "conversations" in reading
    },
    **{name: [{key: held}] for name, (key, held) in messages.MESSAGES.items()},
    "exchanges": READINGS["messages/exchanges: requests of one conversation are joined in any order"][
        "records"
    ],
    **{
        f"reply {place}": [{"request": {"messages": CHAT[1:2]}, "response": reply}]
        for place, reply in enumerate(messages.REPLIES)
    },
    "Codex": READINGS["messages/agents: a session of codex"]["records"],
    **{
        name: held["records"] for name, held in READINGS.items() if name.startswith("traces/containers: cont")
    },
    "LangSmith": READINGS["traces/containers: runs of LangSmith in every container, 2"]["records"],
}


def holds_values(holder, key):
    stated = {name for name, item in holder.items() if item is not None}
    return key in VALUES or (
        key in PERHAPS and isinstance(holder[key], dict) and not OF_CALLS.isdisjoint(stated)
    )


Keys = dict[tuple[str, ...], set[str]]


def collect(value, path, keys):
    """Collects the keys of a format, by the path of what holds them."""
    if isinstance(value, dict):
        keys[path] |= set(value)
    inner = value.items() if isinstance(value, dict) else (("*", each) for each in value)
    for key, item in inner:
        if isinstance(item, dict | list) and not (isinstance(value, dict) and holds_values(value, key)):
            collect(item, (*path, key), keys)


def with_nulls(value, path, keys):
    """Returns a value with null for all keys of its format that it lacks, as tables of records have it."""
    if isinstance(value, list):
        return [with_nulls(each, (*path, "*"), keys) for each in value]
    if not isinstance(value, dict):
        return value
    held = {
        key: item if holds_values(value, key) else with_nulls(item, (*path, key), keys)
        for key, item in value.items()
    }
    return {**dict.fromkeys(sorted(keys[path] - value.keys())), **held}


def without_nulls(value):
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    stated = ((key, item) for key, item in value.items() if item is not None)
    return {key: item if holds_values(value, key) else without_nulls(item) for key, item in stated}


def reading(values):
    found = read([Record("log.json", i, json.dumps(value).encode()) for i, value in enumerate(values, 1)])
    return [msgspec.to_builtins(one) for one in found.conversations], len(found.failures)


def name_of(value):
    try:
        return recognise(value)
    except ValueError:
        return ""


def recorded():
    """Returns the values of recorded and sample files, by name."""
    files = [path for root in (FORMATS, SAMPLES) if root.exists() for path in sorted(root.rglob("*.json*"))]
    found = {}
    for path in files:
        records = (one for one in file_records(str(path), 64 << 20) if isinstance(one, Record))
        values = [json_structure(one.data.decode()) for one in records]
        found[str(path)] = [value for value in values if name_of(value)]
    return found


def check(examples):
    known = defaultdict(lambda: defaultdict(set))
    for values in examples.values():
        for value in values:
            collect(value, (), known[name_of(value)])
    for name, values in examples.items():
        before = reading(values)
        assert reading([without_nulls(value) for value in values]) == before, name
        assert (
            reading([with_nulls(copy.deepcopy(value), (), known[name_of(value)]) for value in values])
            == before
        ), name


def test_examples_of_all_formats():
    for name, values in EXAMPLES.items():
        assert reading(values)[0], name
    check(EXAMPLES)


@pytest.mark.skipif(not FORMATS.exists(), reason="no recordings")
def test_recordings():
    check(recorded())


@pytest.mark.skipif(not REPORTED.exists(), reason="no shared fixtures")
@pytest.mark.parametrize(
    "name",
    ["chat_list_tool_call_id_null.json", "chat_tool_call_id_null.json", "chat_tool_call_id_empty.json",
     "chat_with_tools.parquet", "nulls_bedrock.json", "state_only_event.session.json",
     "live_transcriptions.session.json", "adk_live_author.session.json", "dfcx_conversation_history.json",
     "vertex_request_response.jsonl"],
)  # fmt: skip
def test_the_reported_files(name):
    expected = json.loads((REPORTED / "expected.json").read_text())[
        "chat_tool_call_id_null.json" if name.endswith("parquet") else name
    ]
    [conversation] = read_file(REPORTED / name).conversations
    found = turns(conversation)
    assert [(user, agent) for user, _, _, agent in found] == [(t["user"], t["agent"]) for t in expected]
    assert [calls for _, calls, _, _ in found] == [
        [(c["name"], c["args"]) for c in t["calls"]] for t in expected
    ]
    assert [[value for _, value in results] for _, _, results, _ in found] == [
        [c["result"] for c in t["calls"]] for t in expected
    ]
