"""How conversations ended: what every format says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import FORMATS, one
from tests.tables import rows_test
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.endings import End, context_tools, declared_tools, stated_end
from turnwise.transforms.formats.reading import LogReader

test_rows = rows_test(globals(), "endings")


def word(ended, word):
    assert stated_end(word) == End(ended, None if word == ended else word)
    assert stated_end(word, " the log's\nown words ") == End(ended, "the log's own words")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)


@given(JSON)
def test_nothing_unknown_ends_normally(word):
    known = ("normally", "normal", "completed", "user_stop", "agent_stop")
    assert str(word).lower() in known or stated_end(word).ended != "normally"


PENDING = {"status": "pending", "end_time": None}


@pytest.mark.parametrize(
    ("is_open", "unfinished"),
    [
        (lambda run: False, [False, False]),
        (lambda run: not run.get("parent_run_id"), [True, True]),
        (lambda run: run["name"] == "get_order", [True, False]),
    ],
)
def test_a_run_of_langsmith_that_had_not_ended_leaves_its_turn_unknown(is_open, unfinished):
    lines = (FORMATS / "langsmith_runs/generated_langgraph_runs.jsonl").read_text().splitlines()
    runs = [json.loads(line) for line in lines]
    turns = one([{**run, **(PENDING if is_open(run) else {})} for run in runs]).turns
    assert [bool(turn.unknown_calls and turn.unknown_words) for turn in turns] == unfinished
    ended = one([{**run, "status": "pending"} for run in runs]).turns
    assert [turn.unknown_calls for turn in ended] == [None, None]


def event(value, is_end):
    """Events that state the end."""
    [found] = LogReader().read(Record("log.jsonl", 1, json.dumps(value).encode()))
    assert found.is_end == is_end


DECLARED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "tools", "function", "annotations", "paths", "method", "openApiTool", "get"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(DECLARED)
def test_anything_can_stand_in_the_place_of_declarations(value):
    assert isinstance(declared_tools(value), list)
    assert isinstance(context_tools(value), list)
