import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.formats.registry import record_time
from turnwise.transforms.text.dates import epoch_seconds, rfc3339, time_seconds, weekdays_in

T = 1_767_323_045.0
TEXT = "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (TEXT, T),
        ("2026-01-02T03:04:05.250Z", T + 0.25),
        ("2026-01-02T05:04:05+02:00", T),
        ("2026-01-02T03:04:05", T),
        (" 2026-01-02 03:04:05.5", T + 0.5),
        ("2026-01-02 03:04:05+00:00", T),
        (1767323045, T),
        (1767323045.5, T + 0.5),
        (1767323045500, T + 0.5),
        ("1767323045500", T + 0.5),
        *((nonsense, None) for nonsense in ("", "soon", "nan", "inf", "2026-13-02T03:04:05Z", "2026-01-02")),
        *((nonsense, None) for nonsense in (0, -5, True, None, [], {}, 1e15, 10**400)),
        *((nonsense, None) for nonsense in (float("nan"), float("inf"), -float("inf"))),
    ],
)
def test_moment(value, wanted):
    assert time_seconds(value) == wanted


@pytest.mark.parametrize(
    ("number", "wanted"), [(5.0, 5.0), (-5.0, -5.0), (1e11, 1e8), (99e9, 99e9), (1e14, None)]
)
def test_seconds_or_milliseconds(number, wanted):
    assert epoch_seconds(number) == wanted


@pytest.mark.parametrize(
    ("stated", "text"), [("as it is", "as it is"), (T, TEXT), (T * 1000, TEXT), (1e300, None), (-90e9, None)]
)
def test_rfc3339(stated, text):
    assert rfc3339(stated) == text


def later(seconds):
    return T + seconds


EVENTS = [
    {"conversation_id": "c", "event_time": TEXT, "turn": {"timestamp": later(9)}},
    {"conversation_id": "c", "event_time": "nonsense", "turn": {"timestamp": T}},
    {"session_id": "s", "event": {"id": "e"}, "event_time": T},
    {"session_id": "s", "author": "user", "timestamp": T},
]
WHOLES = [
    {"conversation_id": "c", "start_time": "2026-01-01T00:00:00Z", "turns": [{"timestamp": T}, {}]},
    {"id": "s", "events": [{"timestamp": T - 3}], "lastUpdateTime": T},
    {"turns": [{"rootSpan": {"childSpans": [{"endTime": TEXT}]}}], "messages": None},
    {"messages": [{"role": "user", "created_at": TEXT}, {"role": "assistant", "created": T - 1}]},
]


@pytest.mark.parametrize("value", EVENTS + WHOLES)
def test_time_of_a_record(value):
    assert record_time(json.dumps(value).encode()) == T


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


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Come on Monday or SUNDAY.", {0, 6}),
        ("le mercredi, el jueves", {2, 3}),
        ("월요일에", {0}),
        ("Mondays at 日本, sonntags", {0, 6}),
    ],
)
def test_weekdays(text, days):
    assert weekdays_in(text) == days
