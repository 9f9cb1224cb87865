"""Assembly on a real engine: timers, lateness and restored sessions."""

import json
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.test_stream import TestStream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import TimestampedValue

from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.conversation import Arrival, Receipt
from turnwise.schemas.run import PROGRESS, StreamRules
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.sessions import (
    MAX_EVENTS,
    AssembleConversations,
    Ignored,
    RejectedConversation,
    firing_time,
)
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


class Log:
    """A stream of turn events; positions count up."""

    def __init__(self) -> None:
        self.stream = TestStream()
        self.position = 0

    def bundle(self, *events: tuple[str, int, float], watermark: float = 0.0, **fields: Any) -> "Log":
        arrivals = []
        for conversation, index, at in events:
            self.position += 1
            data = text(conversation, index, at, **fields)
            arrivals.append(arrival(self.position, data, at, watermark))
        self.stream = self.stream.add_elements(arrivals)
        return self

    def watermark(self, at: float) -> "Log":
        self.stream = self.stream.advance_watermark_to(at)
        return self


def told(found: LoggedConversation, at: Any) -> tuple[Any, ...]:
    conversation, record = found
    positions = sorted(receipt.position for receipt in record.settles())
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
        elif isinstance(element, RejectedConversation):
            FOUND["failures"] += map(failed, element.failures)
        elif isinstance(element, Failure):
            FOUND["failures"].append(failed(element))
        else:
            assert isinstance(element, Ignored)
            FOUND["ignored"] += [receipt.position for receipt in element[0]]
        FOUND["held"].append(PROGRESS.held)


def of_kind(found: Any, kind: type) -> Any:
    return found | f"Of{kind.__name__}" >> beam.Filter(isinstance, kind)


def collected(root: beam.Pipeline, stream: TestStream, rules: StreamRules) -> None:
    """Adds the assembly of a stream, all of whose elements are kept."""
    parsed = arriving(root, stream) | ParseArrivals(LogReader())
    assembled = parsed.events | AssembleConversations(rules, LogReader())
    _ = (parsed.whole, assembled) | beam.Flatten() | beam.ParDo(Collect())


def run(log: Log, rules: StreamRules = RULES) -> dict[str, list[Any]]:
    """Runs a stream to its end and returns all that assembly gave."""
    FOUND.update(conversations=[], failures=[], ignored=[], held=[])
    held = PROGRESS.held
    with new_pipeline() as root:
        collected(root, log.stream, rules)
    assert PROGRESS.held == held
    return FOUND


def check(
    log: Log,
    conversations: list[tuple[Any, ...]],
    failures: list[tuple[Any, ...]] | None = None,
    ignored: list[int] | None = None,
    rules: StreamRules = RULES,
) -> None:
    """Compares what a stream gives, in any order."""
    found = run(log, rules)
    assert sorted(found["conversations"]) == sorted(conversations)
    assert sorted(found["failures"], key=repr) == sorted(failures or [], key=repr)
    assert sorted(found["ignored"]) == sorted(ignored or [])


def test_sessions_close_at_the_gap_each_by_itself():
    log = Log().bundle(("a", 1, T), ("b", 0, T + 5), ("a", 0, T + 5)).watermark(T + 100)
    log.bundle(("b", 1, T + 600)).watermark(T + 700).bundle(("a", 2, T + 6)).watermark(T + 5000)
    rules = StreamRules(session_gap=GAP, allowed_lateness=10_000)
    wanted = [
        ("a", 0, ["a0", "a1"], [1, 3], T + 5),
        ("b", 0, ["b0", "b1"], [2, 4], T + 600),
        ("a", 1, ["a0", "a1", "a2"], [5], T + 6),
    ]
    check(log, wanted, rules=rules)


def test_an_explicit_end_does_not_wait():
    log = Log().watermark(T).bundle(("a", 0, T), ("b", 0, T)).bundle(("a", 2, T + 1), end=True)
    log.bundle(("a", 1, T + 2), ("a", 3, T + 3))
    wanted = [
        ("a", 0, ["a0", "a2"], [1, 3], T + 1),
        ("a", 1, ["a0", "a1", "a2", "a3"], [4, 5], T + 3),
        ("b", 0, ["b0"], [2], T),
    ]
    check(log, wanted)


def test_events_that_wait_are_told():
    held = PROGRESS.held
    found = run(
        Log().watermark(T).bundle(("a", 0, T), ("a", 1, T), ("a", 1, T)).bundle(("b", 0, T), end=True)
    )
    assert [row[0] for row in found["conversations"]] == ["b", "a"]
    assert max(found["held"]) - held == 3, "a repetition waits as well"


def test_a_jump_of_the_watermark_closes_what_it_passes():
    log = Log().watermark(T).bundle(("a", 0, T), ("b", 0, T + 300), ("c", 0, T + 9000)).watermark(T + 5000)
    log.bundle(("a", 1, T + 1), ("b", 1, T + 1), ("c", 1, T + 1))
    wanted = [
        ("a", 0, ["a0"], [1], T),
        ("b", 0, ["b0"], [2], T + 300),
        ("a", 1, ["a0", "a1"], [4], T + 1),
        ("b", 1, ["b0", "b1"], [5], T + 300),
        ("c", 0, ["c0", "c1"], [3, 6], T + 9000),
    ]
    check(log, wanted)


def test_an_old_log_is_not_torn_apart_by_a_watermark_far_ahead():
    log = Log().watermark(T + 50_000).bundle(("a", 0, T), watermark=T + 50_000).watermark(T + 50_100)
    log.bundle(("a", 1, T + 1), watermark=T + 50_100)
    check(log, [("a", 0, ["a0", "a1"], [1, 2], T + 1)])


def test_a_watermark_at_the_end_of_time_is_no_time():
    log = Log().bundle(("a", 0, T), ("a", 1, T), watermark=9e12).watermark(T + GAP + 20)
    log.bundle(("a", 2, T), watermark=float("inf"))
    check(log, [("a", 0, ["a0", "a1"], [1, 2], T), ("a", 1, ["a0", "a1", "a2"], [3], T)])


def test_an_event_after_the_allowed_lateness_is_a_failure():
    log = Log().bundle(("a", 0, T)).watermark(T + 5000).bundle(("a", 1, T)).watermark(T + 20_000)
    log.bundle(("b", 0, T + 20_000), watermark=T + 20_000).watermark(T + 40_000)
    log.bundle(("a", 2, T), watermark=T + 40_000)
    wanted = [("a", 0, ["a0"], [1], T), ("a", 1, ["a0", "a1"], [2], T), ("b", 0, ["b0"], [3], T + 20_000)]
    rules = StreamRules(session_gap=GAP, allowed_lateness=10_000)
    check(log, wanted, [("assemble", "LateEventError", "a", [4])], rules=rules)


def test_events_that_cannot_be_taken_are_failures():
    log = Log().bundle(*(("a", i, T) for i in range(MAX_EVENTS)), end=True).bundle(("a", 5000, T))
    said = [f"a{i}" for i in range(MAX_EVENTS)]
    wanted = [("a", 0, said, list(range(1, MAX_EVENTS + 1)), T)]
    check(log, wanted, [("assemble", "SessionFullError", "a", [MAX_EVENTS + 1])])


def test_events_that_make_no_conversation_are_failures():
    stream = TestStream().add_elements(
        [
            arrival(1, text("a", 0), T),
            arrival(2, b'{"conversation_id": "a", "turn_index": 1, "turn": {"agent": 5}}', T),
            arrival(3, b'{"session_id": "b", "end": true}', T),
            arrival(4, text("b", 0), T),
            arrival(5, text("c", 0), T),
            arrival(6, b"[", T),
        ]
    )
    log = Log()
    log.stream = stream
    rejected = [
        ("parse", "ValueError", name, [position]) for name, position in zip("aabb", (1, 2, 3, 4), strict=True)
    ]
    check(log, [("c", 0, ["c0"], [5], T)], [*rejected, ("parse", "ValueError", None, [6])])


def test_arrivals_that_hold_whole_conversations_have_a_receipt_each():
    said = {"user_content": {"parts": [{"text": "hi"}]}}
    result = {
        "eval_id": "e",
        "session_id": "s",
        "eval_metric_result_per_invocation": [{"actual_invocation": said}],
    }
    records = [
        json.dumps({"conversation_id": "w", "turns": [{"agent": "x"}]}).encode(),
        json.dumps({"eval_case_results": [result, {**result, "session_id": "t"}]}).encode(),
        json.dumps({"eval_case_results": []}).encode(),
        b"{}",
    ]
    arrivals = [arrival(i, data, T + i) for i, data in enumerate(records, 1)]
    with new_pipeline() as root:
        stream = arriving(root, TestStream().add_elements(arrivals))
        parsed = stream | ParseArrivals(LogReader())
        receipts = of_kind(parsed.whole, LoggedConversation) | "Receipts" >> beam.Map(receipts_and_time)
        rejected = of_kind(parsed.whole, Failure) | "Rejected" >> beam.Map(
            lambda one: (one.stage, one.receipts)
        )
        whole = [((Receipt("log", 1, 0, 1),), T + 1)]
        parts = [((Receipt("log", 2, part, 2),), T + 2) for part in (0, 1)]
        assert_that(receipts, equal_to(whole + parts), "Receipts")
        none = [("parse", (Receipt("log", position),)) for position in (3, 4)]
        assert_that(rejected, equal_to(none), "NothingIsRejected")


def receipts_and_time(found: LoggedConversation, at: Any = beam.DoFn.TimestampParam) -> tuple[Any, float]:
    return found.record.settles(), float(at)


def test_assembly_on_an_engine_that_keeps_bytes():
    FOUND.update(conversations=[], failures=[], ignored=[], held=[])
    arrivals = [arrival(i, text("ab"[i % 2], i // 2), T + i) for i in range(6)]
    with beam.Pipeline(runner="FnApiRunner") as root:
        given = root | beam.Create([(one.value, one.timestamp) for one in arrivals])
        parsed = (
            given | beam.MapTuple(TimestampedValue).with_output_types(Arrival) | ParseArrivals(LogReader())
        )
        found = parsed.events | AssembleConversations(StreamRules(), LogReader())
        _ = found | beam.ParDo(Collect())
    said = [(row[0], row[2]) for row in FOUND["conversations"]]
    last = dict(sorted(said, key=lambda row: len(row[1])))
    assert last == {"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]}


@pytest.mark.parametrize("visit", [0.0, T + 0.7 / 64, 1767323045.2499998, 1767323045.0109375])
def test_a_timer_is_not_before_its_visit(visit):
    assert visit <= firing_time(visit).micros / 1e6 < visit + 1e-5
