"""Events come back from the temporary file as they went in."""

from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.io.files import EventJoin
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.events import ConversationEvent

TEXTS = st.text(max_size=8) | st.sampled_from(["\ud800", "a\0b", "\U0001f600"])
EVENTS = st.builds(
    ConversationEvent,
    session_id=TEXTS,
    turn_index=st.integers(-1, 2**31 - 1),
    event_time=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    event_id=TEXTS,
    is_end=st.booleans(),
    kind=st.sampled_from(["a", "b"]),
    watermark=st.floats(0, 1e9),
    group=TEXTS,
    record=st.builds(lambda *parts: Record(*parts), TEXTS, st.integers(0, 10**9), st.binary(max_size=20)),
)


@given(st.lists(EVENTS, max_size=12))
def test_sessions_come_back_in_order_with_all_their_events(events):
    wanted: dict[bool, dict[str, list[ConversationEvent]]] = {True: {}, False: {}}
    for event in events:
        wanted[bool(event.group)].setdefault(event.group or event.session_id, []).append(event)
    with EventJoin() as joining:
        for event in events:
            joining.add(event)
        assert [list(joining.sessions(kind)) for kind in wanted] == [
            list(of.items()) for of in wanted.values()
        ]
