"""A record that cannot be read says where: no error of Python's own reaches a failure row."""

import json
import re

import pytest

import turnwise
from tests.tables import rows_test
from tests.transforms.formats.messages.test_any_values import places
from turnwise.transforms.formats.fields import unforeseen

PYTHONS = re.compile(
    r"unhashable|has no attribute|not subscriptable|not iterable|math domain|int too large|NoneType"
)
WRONG = ([[1]], {"a": [1]}, 10**400, 0.5, True, [], "2024-13-45")
test_rows = rows_test(globals(), "faults")


def changed(value, path, wrong):
    if not path:
        return wrong
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], wrong)
    return copy


def spoilt(record):
    """No wrong value anywhere in a record gives an error of Python."""
    for path in places(record):
        for wrong in WRONG:
            for failure in turnwise.evaluate(changed(record, path, wrong)).failures:
                assert not PYTHONS.search(failure["message"]), (path, wrong, failure["message"])


def test_the_smallest_part_that_is_wrong_is_named():
    def read(data):
        value = json.loads(data)
        return [{turn.get("id"): 1 for turn in value.get("turns", ())}, value.get("n", 0) + 1]

    for text, part in (
        (b'{"n": 1, "turns": [{"id": "a"}, {"id": [1]}]}', "turns.1.id"),
        (b'{"n": "x", "turns": [{"id": "a"}, {"id": "b"}]}', "n"),
    ):
        with pytest.raises(TypeError) as error:
            read(text)
        assert unforeseen(error.value, text, read, None).partition(":")[0] == part
        line = read.__code__.co_firstlineno + 2
        message = unforeseen(error.value, text, read, [__name__])
        assert "TypeError" in message and message.endswith(f" (test_faults.py:{line})")
