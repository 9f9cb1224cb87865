"""Records of any form, by the mapping of the config."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from turnwise.schemas.config import ConfigError

GET = {"fn": "get", "params": '{"a": 1}'}
CALL = {
    "call": {"id": "c-7"},
    "release": 3,
    "lines": [
        {
            "who": "caller",
            "asked": "Where is A-17?",
            "said": "Shipped.",
            "did": [{"fn": "get", "params": '{"a": 1}'}],
        },
        {"asked": "Thanks", "said": "Bye."},
    ],
    "labels": ["vip"],
}
TURNS = {
    "conversation_id": "call.id",
    "app_version": "release",
    "tags": "labels",
    "turns": "lines[*].{user: asked, agent: said, tool_calls: did[*].{name: fn, args: params}}",
}
MESSAGE = "{role: from == 'human' && 'user' || 'assistant', content: text}"
PARTS = {"conversation_id": "chat", "order": "n", "message": MESSAGE, "app_version": "v"}


def read(logs, mapping, **options):
    return turnwise.read_conversations(logs, config={"mapping": mapping}, **options)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"turns": "lines[*"}, "is no JMESPath expression"),
        ({"turns": "nosuch(lines)"}, r"no JMESPath expression: there is no function nosuch\(\)"),
        ({"turns": "lines", "tags": "join(',')"}, r"join\(\) takes 2 arguments, not 1"),
        ({"turns": "lines[::0]"}, "the step of a slice is 0"),
        ("turns", "mapping: a JSON object is needed, not str"),
        ({"conversation_id": "id"}, "exactly one of turns, messages, turn and message"),
        ({"turn": "@"}, "turn needs conversation_id"),
        ({"turns": "a", "conversation": "b"}, "mapping.conversation: unknown field"),
    ],
)
def test_a_bad_mapping_ends_before_anything_is_read(mapping, message):
    with pytest.raises((ConfigError, ValueError), match=message):
        read([CALL], mapping)


def line(**more):
    return [{"key": "k", "lines": [{"asked": "Hi", "said": "Yo", **more}]}]


NAMED = "lines[*].{user: asked, agent: said, tool_calls: did[*].{name: fn, args: params}}"


def test_what_the_mapping_leaves_out_does_not_pass():
    config = {"criteria": {"tool_call_count_v1": 3}, "mapping": {"turns": NAMED.replace("did", "acts")}}
    results = turnwise.evaluate(line(did=[GET]), config=config)
    assert results.results[0].get("evaluationStatus") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcn"), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["chat", "n", "from", "text", "lines", "call"]), JSON), st.booleans())
def test_no_value_crashes_the_mapping(record, is_part):
    failures = []
    found = read([record], PARTS if is_part else TURNS, on_failure=failures.append)
    assert len(found) + len(failures) == 1
