import json

import msgspec
import pytest

from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record, ToolCall
from turnwise.transforms.formats.canonical import read_case, read_conversation
from turnwise.transforms.formats.reading import CaseReader, LogReader

test_rows = rows_test(globals(), "turnwise")


def refused(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_conversation(text.encode())
    assert "\n" not in str(caught.value)


def test_a_case_line():
    case = EvalCase(eval_id="e", task="Book.", actions=[ToolCall(name="book")])
    assert read_case(msgspec.json.encode(case)) == case


def refused_case(text, message):
    with pytest.raises(ValueError, match=message):
        read_case(text.encode())


def test_what_could_not_be_written_again_is_not_read():
    deep = b'{"conversation_id": "c", "turns": [{}], "meta": {"x": ' + b"[" * 300 + b"]" * 300 + b"}}"
    with pytest.raises(ValueError, match="recursion limit"):
        LogReader().read(Record("f", 1, deep))
    wide = b'{"conversation_id": "c", "turns": [{}], "meta": {"x": [' + b",".join([b"[]"] * 300) + b"]}}"
    (found,) = LogReader().read(Record("f", 1, wide))
    assert len(found.meta["x"]) == 300


@pytest.mark.parametrize("count", [0, 1, 300])
def test_a_record_is_checked_however_long_it_is(count):
    def record(last):
        return '{"conversation_id": "c", "turns": [' + '{"agent": "a: b"}, ' * count + last + "]}"

    assert len(read_conversation(record('{"agent": "c"}').encode()).turns) == count + 1
    refused(record('{"turn_index": 5, "agent": "c", "turn_index": 0}'), "'turn_index' stands twice")
    refused(record('{"variables": {"x": ' + "[" * 300 + "]" * 300 + "}}"), "recursion limit")


def key_by_key(fields):
    """A case is read from its text as it is with a null, which counts as absent, key by key."""

    def read(value):
        try:
            return CaseReader(CesConfig()).read(Record("cases", 1, json.dumps(value).encode()))
        except ValueError as error:
            return str(error)

    case = {"eval_id": "e", **fields}
    assert read(case) == read({**case, "display_name": None})


def test_a_deep_case_is_read_from_its_text_as_it_is_read_key_by_key():
    deep = json.loads('{"a":' * 210 + "1" + "}" * 210)
    calls = [{"name": "f", "args": deep}]
    key_by_key({"turns": [{"user": "Hi", "response": "Hello: you", "tool_calls": calls}]})


def test_a_case_that_states_a_key_twice_is_refused():
    text = b'{"eval_id": "e", "turns": [{"user": "Hi", "response": "a", "response": "b"}]}'
    with pytest.raises(ValueError, match="response"):
        CaseReader(CesConfig()).read(Record("cases", 1, text))
