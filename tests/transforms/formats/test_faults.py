"""A record that cannot be read says where: no error of Python's own reaches a failure row."""

import json
import re

import pytest

import turnwise
from turnwise.transforms.formats.fields import unforeseen

PYTHONS = re.compile(
    r"unhashable|has no attribute|not subscriptable|not iterable|math domain|int too large|NoneType"
)
WRONG = ([[1]], {"a": [1]}, 10**400, 0.5, True, [], "2024-13-45")
RECORDS = {
    "chat": {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "x", "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
        ]
    },
    "canonical": {"conversation_id": "c", "start_time": "x", "turns": [{"user": "a", "agent": "b"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": []}]},
    "ces": {
        "name": "projects/p/locations/l/apps/a/conversations/c",
        "turns": [{"messages": [{"role": "u"}]}],
    },
}


def places(value, path=()):
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


def changed(value, path, wrong):
    if not path:
        return wrong
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], wrong)
    return copy


@pytest.mark.parametrize("name", RECORDS)
def test_no_wrong_value_gives_an_error_of_python(name):
    for path in places(RECORDS[name]):
        for wrong in WRONG:
            for failure in turnwise.evaluate(changed(RECORDS[name], path, wrong)).failures:
                assert not PYTHONS.search(failure["message"]), (path, wrong, failure["message"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"n": 1, "turns": [{"id": "a"}, {"id": [1]}]}', "turns.1.id: a list is not expected here"),
        (b'{"n": "x", "turns": [{"id": "a"}, {"id": "b"}]}', "n: 'x' is not expected here"),
    ],
)
def test_the_smallest_part_that_is_wrong_is_named(text, message):
    def read(data):
        value = json.loads(data)
        return [{turn.get("id"): 1 for turn in value.get("turns", ())}, value.get("n", 0) + 1]

    with pytest.raises(TypeError) as error:
        read(text)
    said = unforeseen(error.value, text, read, is_added=False)
    assert said.partition(":")[0] == message.partition(":")[0]
    assert "TypeError" in unforeseen(error.value, text, read, is_added=True)
