"""Records of any form, by the mapping of the config."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.tables import rows_test
from turnwise.schemas.config import ConfigError

test_rows = rows_test(globals(), "mapping")


TURNS = {
    "conversation_id": "call.id",
    "app_version": "release",
    "tags": "labels",
    "turns": "lines[*].{user: asked, agent: said, tool_calls: did[*].{name: fn, args: params}}",
}
MESSAGE = "{role: from == 'human' && 'user' || 'assistant', content: text}"
PARTS = {"conversation_id": "chat", "order": "n", "message": MESSAGE, "app_version": "v"}


def bad(mapping, message):
    """A bad mapping ends before anything is read."""
    with pytest.raises((ConfigError, ValueError), match=message):
        turnwise.read_conversations([{"lines": []}], config={"mapping": mapping})


def test_what_the_mapping_leaves_out_does_not_pass():
    turns = "lines[*].{user: asked, agent: said, tool_calls: acts[*].{name: fn, args: params}}"
    log = {"key": "k", "lines": [{"asked": "Hi", "said": "Yo", "did": [{"fn": "get", "params": "{}"}]}]}
    config = {"criteria": {"tool_call_count_v1": 3}, "mapping": {"turns": turns}}
    assert turnwise.evaluate([log], config=config).status is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcn"), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["chat", "n", "from", "text", "lines", "call"]), JSON), st.booleans())
def test_no_value_crashes_the_mapping(record, is_part):
    failures = []
    config = {"mapping": PARTS if is_part else TURNS}
    found = turnwise.read_conversations([record], config=config, on_failure=failures.append)
    assert len(found) + len(failures) == 1
