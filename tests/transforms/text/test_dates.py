import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.formats.registry import record_time


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b'"2026-01-02T03:04:05Z"',
        b'{"conversation_id": "c", "turns": [{"timestamp": 0.0}]}',
        b'{"conversation_id": "c", "turns": 7, "start_time": "soon"}',
    ],
)
def test_a_record_that_says_no_time(data):
    assert record_time(data) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["turns", "timestamp", "event", "event_time", "messages", "rootSpan", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_never_raises(data):
    time = record_time(data)
    assert time is None or 0 < time < 1e11
