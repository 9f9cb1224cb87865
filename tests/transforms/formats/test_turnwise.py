import json

import msgspec
import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record, ToolCall
from turnwise.transforms.formats.canonical import read_case, read_conversation
from turnwise.transforms.formats.reading import CaseReader, LogReader


def data(**fields):
    return json.dumps({"conversation_id": "c", **fields}).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "EOF"),
        (b"[]", "not a conversation: a JSON object is needed, not list"),
        (b"{}", "not a conversation: Object missing required field `conversation_id`"),
        (data(turns=[{"user": 5}]), "not a conversation: turns.0.user: Expected `str \\| null`, got `int`"),
        (data(expected={"actions": [1]}), "expected.actions.0: Expected `object`, got `int`"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_conversation(text)
    assert "\n" not in str(caught.value)


def test_a_case_line():
    case = EvalCase(eval_id="e", task="Book.", actions=[ToolCall(name="book")])
    assert read_case(msgspec.json.encode(case)) == case


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"eval_id": 5}', "not an eval case: eval_id: Expected `str`, got `int`"),
        (
            b'{"eval_id": "e", "turnz": []}',
            r"not an eval case: turnz: unknown field \(did you mean turns\?\)",
        ),
        (b'{"eval_id": "e"}', "not an eval case: e expects nothing"),
        (b'{"eval_id": "e", "turns": [{}, {"user": "hi"}]}', "not an eval case: e expects nothing"),
        (b'{"eval_id": "e", "thresholds": {"parameter": true}}', r"thresholds\.parameter: Expected `float`"),
        (
            b'{"eval_id": "e", "turns": [{"thresholds": {"semantic_similarity": 9}}]}',
            r"turns\.0\.thresholds\.semantic_similarity: Expected `int` <= 4",
        ),
        (
            b'{"eval_id": "e", "turns": [{"thresholds": {"tool_invocation": -1}}]}',
            r"turns\.0\.thresholds\.tool_invocation: Expected `float` >= 0",
        ),
        (b'{"eval_id": "e", "expectations": [{"kind": "tool_call"}]}', "tool_call needs tool_call"),
        (
            b'{"eval_id": "e", "turns": [{"tool_calls": [{"name": "f", "args": {"x": {"$matchType": "regex", '
            b'"$matchValue": "a"}}}]}]}',
            r"did you mean regexp\?",
        ),
        (data(turns=[{"user": "a"}]), "conversation c expects nothing"),
    ],
)
def test_refused_cases(text, message):
    with pytest.raises(ValueError, match=message):
        read_case(text)


def test_what_could_not_be_written_again_is_not_read():
    deep = b'{"conversation_id": "c", "turns": [{}], "meta": {"x": ' + b"[" * 300 + b"]" * 300 + b"}}"
    with pytest.raises(ValueError, match="recursion limit"):
        LogReader().read(Record("f", 1, deep))
    wide = b'{"conversation_id": "c", "turns": [{}], "meta": {"x": [' + b",".join([b"[]"] * 300) + b"]}}"
    (found,) = LogReader().read(Record("f", 1, wide))
    assert len(found.meta["x"]) == 300


CALL = {"name": "f", "args": {"x": 1, "when": "10:30", "deep": [{"a": {}}]}}
PLAIN = {"user": "Hi", "response": "Hello: you", "tool_calls": [CALL]}
DEEP = json.loads('{"a":' * 210 + "1" + "}" * 210)


@pytest.mark.parametrize(
    "fields",
    [
        {"turns": [PLAIN, {"user": "Bye"}], "tags": ["a"], "eval_set_id": "s", "language": "de"},
        {"turns": [PLAIN], "kind": "golden", "similarity_enabled": False, "thresholds": {"parameter": 1}},
        {"turns": [{"user": "Hi"}]},
        {"turns": [PLAIN], "outputs": [" "]},
        {"turns": [{**PLAIN, "respons": "x"}]},
        {"turns": [{**PLAIN, "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}]},
        {"turns": [{**PLAIN, "tool_calls": [{"name": "f", "args": {"x": 10**30}}]}]},
        {"turns": [{**PLAIN, "tool_calls": [{"name": "f", "args": DEEP}]}]},
        {"turns": [{**PLAIN, "tool_calls": [{"name": "f", "args": {"x": {"$matches": "("}}}]}]},
        {"turns": [{**PLAIN, "expectations": [{"kind": "tool_call"}]}]},
        {"turns": [PLAIN], "tools": [{"type": "function", "function": {"name": "f"}}]},
        {"turns": [PLAIN], "rubrics": [{"text": "Is it kind?"}], "session_state": {"turn_index": 2}},
        {"turns": [{**PLAIN, "response": 5}]},
        {"turns": "none"},
    ],
    ids=repr,
)
def test_a_case_is_read_from_its_text_as_it_is_read_key_by_key(fields):
    """A null, which counts as absent, makes it be read key by key."""

    def read(value):
        try:
            return CaseReader(CesConfig()).read(Record("cases", 1, json.dumps(value).encode()))
        except ValueError as error:
            return str(error)

    case = {"eval_id": "e", **fields}
    assert read(case) == read({**case, "display_name": None})


def test_a_case_that_states_a_key_twice_is_refused():
    text = b'{"eval_id": "e", "turns": [{"user": "Hi", "response": "a", "response": "b"}]}'
    with pytest.raises(ValueError, match="response"):
        CaseReader(CesConfig()).read(Record("cases", 1, text))
