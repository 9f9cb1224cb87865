"""Assembly on a real engine: timers, lateness and restored sessions.

A line of `assembled.jsonl` has `steps`: a watermark, or a bundle of events (conversation, index, time; a text
is a record) with their fields. `says` is what comes of conversations: id, revision, answers, time, and what
is settled, a position, or position, part and number of parts; `rejected`, what comes of the others. Times are
seconds after T.
"""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from tests.tables import lines_beside
from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.run import PROGRESS, StreamRules
from turnwise.schemas.score import Failure
from turnwise.transforms.beam import sessions
from turnwise.transforms.beam.steps import InspectedDoFn
from turnwise.transforms.beam.windows import ParseArrivals
from turnwise.transforms.formats.reading import LoggedConversation, LogReader

T = 1_000_000
GAP = 640
RULES = StreamRules(session_gap=GAP, allowed_lateness=10_000)


def text(conversation: str, index: int, at: float | None = None, said: str = "", **fields: Any) -> bytes:
    turn = {"user": "q", "agent": said or f"{conversation}{index}"}
    value = {"conversation_id": conversation, "turn_index": index, "turn": turn, **fields}
    return json.dumps(value | ({} if at is None else {"event_time": at})).encode()


def arrival(position: int, data: bytes, at: float, watermark: float = 0.0) -> TimestampedValue:
    return TimestampedValue(Arrival("log", position, data, at, watermark), at)


def stream_of(steps: Sequence[Any]) -> TestStream:
    """Returns what happens in a stream; positions count up from 1."""
    stream, positions = TestStream(), count(1)
    for step in steps:
        if not isinstance(step, list):
            stream = stream.advance_watermark_to(T + step)
            continue
        events, fields = step[0], dict(*step[1:])
        watermark = T + float(fields.pop("watermark")) if "watermark" in fields else 0.0
        arrivals = []
        for given in events:
            if isinstance(given, str):
                arrivals.append(arrival(next(positions), given.encode(), T, watermark))
            else:
                conversation, index, seconds = given
                at = None if seconds is None else T + seconds
                data = text(conversation, index, at, **fields)
                arrivals.append(arrival(next(positions), data, at or T, watermark))
        stream = stream.add_elements(arrivals)
    return stream


def told(found: LoggedConversation, at: Any) -> tuple[Any, ...]:
    conversation, record = found
    positions = sorted(r.position if r.parts == 1 else [*r[1:4]] for r in record.settles())
    said = [turn.agent for turn in conversation.turns]
    return conversation.conversation_id, conversation.revision, said, positions, float(at)


def failed(failure: Failure) -> tuple[Any, ...]:
    positions = [receipt.position for receipt in failure.receipts]
    return failure.stage, failure.error_type, failure.conversation_id, positions


FOUND: dict[str, list[Any]] = {}


class Collect(InspectedDoFn):
    """Keeps what assembly gives, in this process, in the order in which it comes."""

    def process(self, element: Any, at: Any = beam.DoFn.TimestampParam) -> None:
        if isinstance(element, LoggedConversation):
            FOUND["conversations"].append(told(element, at))
        elif isinstance(element, sessions.RejectedConversation):
            FOUND["failures"] += map(failed, element.failures)
        elif isinstance(element, Failure):
            FOUND["failures"].append(failed(element))
        else:
            assert isinstance(element, sessions.Ignored)
            FOUND["ignored"] += [receipt.position for receipt in element[0]]
        FOUND["held"].append(PROGRESS.held)


def collected(root: beam.Pipeline, stream: TestStream, rules: StreamRules) -> None:
    """Adds the assembly of a stream, all of whose elements are kept."""
    parsed = arriving(root, stream) | ParseArrivals(LogReader())
    assembled = parsed.events | sessions.AssembleConversations(rules, LogReader())
    _ = (parsed.whole, assembled) | beam.Flatten() | beam.ParDo(Collect())


def run(steps: Sequence[Any]) -> dict[str, list[Any]]:
    """Runs a stream to its end and returns all that assembly gave."""
    FOUND.update(conversations=[], failures=[], ignored=[], held=[])
    held = PROGRESS.held
    with new_pipeline() as root:
        collected(root, stream_of(steps), RULES)
    assert PROGRESS.held == held
    return FOUND


def check(
    steps: Sequence[Any], conversations: Sequence[Any], failures: Sequence[Any] = (), ignored: Any = ()
) -> None:
    """Compares what a stream gives, in any order."""
    found = run(steps)
    assert sorted(found["conversations"]) == sorted((*row[:-1], T + row[-1]) for row in conversations)
    assert sorted(found["failures"], key=repr) == sorted(map(tuple, failures), key=repr)
    assert found["ignored"] == [*ignored]


LINES = lines_beside(__file__, "assembled.jsonl")


@pytest.mark.parametrize("name", LINES)
def test_what_is_assembled(name):
    line = LINES[name]
    check(line["steps"], line["says"], line.get("rejected", ()), line.get("ignored", ()))


def test_events_that_wait_are_told():
    held = PROGRESS.held
    found = run([0, [[("a", 0, 0), ("a", 1, 0), ("a", 1, 0)]], [[("b", 0, 0)], {"end": True}]])
    assert [row[0] for row in found["conversations"]] == ["b", "a"]
    assert max(found["held"]) - held == 3, "a repetition waits as well"


def test_events_that_cannot_be_taken_are_failures():
    steps = [[[("a", i, 0) for i in range(sessions.MAX_EVENTS)], {"end": True}], [[("a", 5000, 0)]]]
    said = [f"a{i}" for i in range(sessions.MAX_EVENTS)]
    wanted = [("a", 0, said, list(range(1, sessions.MAX_EVENTS + 1)), 0)]
    check(steps, wanted, [("assemble", "SessionFullError", "a", [sessions.MAX_EVENTS + 1])])


def test_assembly_on_an_engine_that_keeps_bytes():
    FOUND.update(conversations=[], failures=[], ignored=[], held=[])
    arrivals = [arrival(i, text("ab"[i % 2], i // 2), T + i) for i in range(6)]
    with beam.Pipeline(runner="FnApiRunner") as root:
        given = root | beam.Create([(one.value, one.timestamp) for one in arrivals])
        parsed = (
            given | beam.MapTuple(TimestampedValue).with_output_types(Arrival) | ParseArrivals(LogReader())
        )
        found = parsed.events | sessions.AssembleConversations(StreamRules(), LogReader())
        _ = found | beam.ParDo(Collect())
    said = [(row[0], row[2]) for row in FOUND["conversations"]]
    last = dict(sorted(said, key=lambda row: len(row[1])))
    assert last == {"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]}


@pytest.mark.parametrize("visit", [0.0, T + 0.7 / 64, 1767323045.2499998, 1767323045.0109375])
def test_a_timer_is_not_before_its_visit(visit):
    assert visit <= sessions.firing_time(visit).micros / 1e6 < visit + 1e-5
