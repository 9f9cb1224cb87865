"""A stream ends with what a batch gives, however its events are split, ordered, closed and interrupted."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnwise.schemas.conversation import Record
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import Ignored, RejectedConversation, Sessions, closed_session
from turnwise.transforms.formats.events import distinct, in_order, join_events
from turnwise.transforms.formats.reading import LogReader

T = 1_000_000.0
RULES = StreamRules(session_gap=640.0, allowed_lateness=10_000.0)
READER = LogReader()
BAD = 5


def event(source, position, index, said, at):
    turn = {"user": f"q{position}", "agent": said}
    value = {"conversation_id": "c", "turn_index": index, "turn": turn}
    value |= {} if at is None else {"event_time": T + at}
    (found,) = READER.read(Record(source, position, json.dumps(value).encode()))
    return found


@st.composite
def logs(draw):
    """Events of one conversation in two files; what some say cannot be joined, and later ones may mend it."""
    parts = st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 3),
        st.sampled_from([BAD, "x", "y", "z"]),
        st.sampled_from([None, 0, 1, 2]),
    )
    return [event(f, n, i, said, at) for n, (f, i, said, at) in enumerate(draw(st.lists(parts, min_size=1)))]


def batch(events):
    """Returns (what was said, None), or (None, ids of the events that were rejected)."""
    events = in_order(distinct(events))
    try:
        return [turn.agent for turn in join_events("c", events).turns], None
    except ValueError:
        return None, {one.event_id for one in events}


class Process:
    """Sessions of processes that come after each other, and what they leave on the disk."""

    def __init__(self):
        self.sessions, self.disk, self.kept, self.unsettled = Sessions(), {}, None, {}

    def add(self, one):
        self.unsettled[one.record[:2]] = one
        _, rejected = self.sessions.add(one, T, READER, RULES, self.disk.get)
        assert rejected is None or isinstance(rejected, Ignored)
        self._settle(rejected.receipts if rejected else ())

    def close(self):
        for name, session in self.sessions.take_due(T + 4 * RULES.session_gap, RULES):
            content = self.sessions.joined(name, session, RULES)
            is_rejected, record = isinstance(content, RejectedConversation), content.record
            self.disk[name] = closed_session(record, is_rejected)
            rejected = {one.event_id for one in session.events()} if is_rejected else None
            assert self.kept is None or record.closing.revision >= self.kept[0]
            said = None if is_rejected else [turn.agent for turn in content.conversation.turns]
            self.kept = record.closing.revision, said, rejected
            self._settle(record.settles())

    def _settle(self, receipts):
        for receipt in receipts:
            self.unsettled.pop((receipt.source, receipt.position), None)

    def restart(self):
        """Forgets all that is not on the disk, and reads again what was not settled."""
        self.sessions = Sessions()
        for one in list(self.unsettled.values()):
            self.add(one)


MENDED_LATER = [event("a", 1, 0, "x", 0), event("a", 2, 1, BAD, 0), event("a", 3, 1, "y", 1)]


@settings(max_examples=400, deadline=None)
@given(logs(), st.data())
@example(MENDED_LATER, None)
def test_a_stream_ends_with_what_a_batch_gives(events, data):
    draw = (lambda strategy: data.draw(strategy)) if data else (lambda strategy: [])
    numbers = range(len(events))
    again = draw(st.lists(st.sampled_from(numbers), max_size=3))
    order = draw(st.permutations([*numbers, *again])) or numbers
    closings = draw(st.sets(st.sampled_from(numbers))) if data else numbers
    restarts = draw(st.sets(st.sampled_from(numbers))) if data else ()
    process = Process()
    for step, number in enumerate(order):
        process.add(events[number])
        if step in closings:
            process.close()
        if step in restarts:
            process.restart()
    process.close()
    assert process.kept[1:] == batch(events)
    assert process.unsettled == {}
