"""A record that cannot be read says where: no error of Python's own reaches a failure row."""

import re
from collections import Counter

import pytest

import turnwise
from turnwise.schemas.record import Record
from turnwise.transforms.formats.faults import located
from turnwise.transforms.formats.parsing import parse_record

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


def read(record):
    import json

    value = json.loads(record.data)
    return [{value["turns"][1]["id"]: 1}, value["n"] + 1]


class Reader:
    read = staticmethod(read)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b'{"n": 1, "turns": [{"id": "a"}, {"id": [1]}]}',
            "turns[1].id: [1] is not what this format",
        ),
        (b'{"n": "x", "turns": [{"id": "a"}, {"id": "b"}]}', "the record: {"),
    ],
)
def test_the_smallest_part_that_is_wrong_is_named(text, message):
    (failure,) = parse_record(Reader(), Record("a.jsonl", 1, text), Counter())
    assert failure.message.startswith(message)


def test_a_reader_s_own_words_stay():
    error = ValueError("turn 3: a role is missing")
    assert located(error, read, Record("a", 1, b"{}")) is error
