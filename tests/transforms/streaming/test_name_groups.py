"""Spans in a stream: a trace is held until its root, its id is lent, late spans reopen conversations.

A line of `grouped.jsonl` has `steps`: a watermark, or a bundle of records, each of spans: of `SPANS`, or by
trace, id, parent, name, time and attributes. `found` is what comes of conversations: id, revision, turns, and
what is settled, a position, or position, part and number of parts.
"""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from tests.tables import lines_beside
from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.run import PROGRESS, StreamRules
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.sessions import AssembleConversations, ClosedSession, NameStreamGroups, Sessions
from turnwise.transforms.beam.windows import ParseArrivals
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.formats.registry import record_time

T = 1_760_000_000
RULES = StreamRules(session_gap=640, allowed_lateness=10_000)
FOUND: list[tuple[Any, ...]] = []
FAILED: list[tuple[Any, ...]] = []
LINES = lines_beside(__file__, "grouped.jsonl")
GROUPS: dict[str, tuple[str, ...]] = {}
PIECES: list[tuple[int, int, int]] = []


def span(trace: str, own: str, parent: str, name: str, at: int, **attributes: str) -> dict[str, Any]:
    held = [
        {"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()
    ]
    times = {"startTimeUnixNano": f"{T + at}000000000", "endTimeUnixNano": f"{T + at + 1}000000000"}
    ids = {"traceId": trace * 32, "spanId": own * 16, "parentSpanId": parent * 16}
    return {**ids, **times, "name": name, "attributes": held}


def said(*messages: tuple[str, str]) -> str:
    return json.dumps([{"role": r, "parts": [{"type": "text", "content": t}]} for r, t in messages])


def turn(trace: str, at: int, user: str, answer: str, **root: str) -> list[dict[str, Any]]:
    """A model call and, after it, the root, which alone names the conversation."""
    chat = {"gen_ai__operation__name": "chat", "gen_ai__input__messages": said(("user", user))}
    return [
        span(trace, "b", "a", "chat", at, **chat, gen_ai__output__messages=said(("assistant", answer))),
        span(trace, "a", "", "invoke_agent", at, gen_ai__operation__name="invoke_agent", **root),
    ]


def exported(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


class Keep(beam.DoFn):
    """Keeps conversations and failures, in this process."""

    def process(self, found: Any) -> None:
        if isinstance(found, LoggedConversation):
            turns = [(each.user, each.agent) for each in found.conversation.turns]
            settles = found.record.settles()
            if found.record.closing is not None:
                GROUPS[found.conversation.conversation_id] = found.record.closing.groups
            PIECES.extend((r.position, r.piece, r.pieces) for r in settles if r.pieces > 1)
            places = sorted({(r.position, r.part, r.parts) for r in settles})
            FOUND.append((found.conversation.conversation_id, found.conversation.revision, turns, places))
        elif isinstance(found, Failure):
            FAILED.append((found.stage, found.error_type, sorted(r.position for r in found.receipts)))


def stream(*bundles: Sequence[tuple[int, bytes]] | float, rules: StreamRules = RULES) -> None:
    """Runs a stream of bundles of (position, record), with watermarks between them."""
    FOUND.clear()
    FAILED.clear()
    PIECES.clear()
    GROUPS.clear()
    steps = TestStream()
    for bundle in bundles:
        if isinstance(bundle, float | int):
            steps = steps.advance_watermark_to(T + bundle)
            continue
        times = [record_time(data) for _, data in bundle]
        arrivals = [
            Arrival("log", at, data, time or T) for (at, data), time in zip(bundle, times, strict=True)
        ]
        steps = steps.add_elements([TimestampedValue(each, each.event_time) for each in arrivals])
    held = PROGRESS.held
    with new_pipeline() as root:
        parsed = arriving(root, steps) | ParseArrivals(LogReader())
        named = parsed.grouped | NameStreamGroups(rules, LogReader())
        assembled = named.events | AssembleConversations(rules, LogReader())
        _ = (parsed.whole, named.rest, assembled) | "All" >> beam.Flatten() | beam.ParDo(Keep())
    assert PROGRESS.held == held


FIRST = turn("1", 0, "One?", "First.", session__id="talk")
SECOND = turn("2", 20, "Two?", "Second.", session__id="talk")
BOTH = [("One?", "First."), ("Two?", "Second.")]


def test_the_time_of_an_export_is_the_end_of_its_last_span():
    assert record_time(exported(*FIRST, *SECOND)) == T + 21


def of_an_earlier_process(name: str) -> ClosedSession | None:
    """The first turn, as an earlier process closed it: by the name of its trace or of its conversation."""
    (event,) = LogReader().read(Record("log", 0, exported(*FIRST)))
    assert isinstance(event, ConversationEvent)
    known = name in ("1" * 32, "talk")
    return ClosedSession(0, b"[" + event.record.data + b"]", T + 1, b'[["log",0]]') if known else None


def test_a_late_span_without_the_id_belongs_to_the_conversation_of_an_earlier_process():
    tool = span(
        "1", "c", "a", "execute_tool f", 0, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f"
    )
    reader, groups, sessions = LogReader(), Sessions(), Sessions()
    (late,) = reader.read(Record("log", 2, exported(tool)))
    assert isinstance(late, ConversationEvent)
    groups.add(late._replace(session_id=late.group), T, reader, RULES, of_an_earlier_process)
    ((name, group),) = groups.take_due(T + 2000, RULES)
    ((event,), failures) = groups.named(name, group, RULES, Counter())
    assert failures == []
    sessions.add(event, T, reader, RULES, of_an_earlier_process)
    ((name, session),) = sessions.take_due(T + 2000, RULES)
    content = sessions.joined(name, session, RULES)
    assert isinstance(content, LoggedConversation)
    turns = [(turn.user, turn.agent) for turn in content.conversation.turns]
    assert (name, content.conversation.revision, turns) == ("talk", 1, BOTH[:1])
    assert [receipt.position for receipt in content.record.settles()] == [2]


SPANS = dict(zip(("call 1", "root 1", "call 2", "root 2"), (*FIRST, *SECOND), strict=True))


def span_of(given):
    return SPANS[given] if isinstance(given, str) else span(*given[:5], **given[5])


@pytest.mark.parametrize("name", LINES)
def test_spans_of_a_stream(name):
    line, numbers = LINES[name], count()

    def record(spans):
        return next(numbers), exported(*map(span_of, spans))

    stream(*([*map(record, step)] if isinstance(step, list) else step for step in line["steps"]))
    found = [[*one[:2], [*map(list, one[2])]] for one in FOUND]
    for told, (*_, places) in zip(found, FOUND, strict=True):
        told.append([at if parts == 1 else [at, part, parts] for at, part, parts in places])
    assert sorted(found) == line["found"]
    assert sorted(map(list, PIECES)) == line.get("pieces", [])
    assert {key: tuple(own) for key, own in line.get("groups", GROUPS).items()} == GROUPS
    assert [*map(list, FAILED)] == line.get("failed", [])


def asked(at: int, user: str, *said: str) -> bytes:
    """A request with its reply: what the user and the agent said in turn."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    request, reply = {"messages": messages[:-1], "user": user}, {"choices": [{"message": messages[-1]}]}
    return json.dumps({"request": request, "response": reply, "timestamp": T + at}).encode()


def test_conversations_that_open_alike_close_while_others_begin():
    often = [(place, asked(place * 300, f"u{place}", "Hi", "Hello")) for place in range(60)]
    later = asked(900, "u0", "Hi", "Hello", "Bye", "See you")
    bundles = [
        part for row in often for part in ([row, *([(60, later)] if row[0] == 3 else [])], row[0] * 300.0)
    ]
    stream(*bundles, 18_000.0, [(61, asked(40_000, "u9", "Hi", "Hello", "And?", "So"))])
    assert FAILED == []
    assert len({name for name, *_ in FOUND}) == 61
    (whole_one,) = [found for found in FOUND if len(found[2]) == 2 and found[3] != [(61, 0, 1)]]
    assert whole_one[1:] == (0, [("Hi", "Hello"), ("Bye", "See you")], [(0, 0, 1), (60, 0, 1)])
    assert FOUND.index(whole_one) < len(FOUND) // 2


def test_a_common_opening_does_not_fill_its_group():
    rows = [(place, asked(place // 100, f"u{place}", "Hi", "Hello")) for place in range(2500)]
    stream(rows, 2000.0, [(2500, asked(100, "u2499", "Hi", "Hello", "Bye", "See you"))])
    assert FAILED == []
    assert len({name for name, *_ in FOUND}) == 2500


def test_a_group_keeps_only_the_newest_of_its_conversations():
    reader, groups = LogReader(), Sessions()
    for place, at in enumerate((0, 20_000, 20_010)):
        (event,) = reader.read(Record("log", place, asked(at, f"u{place}", "Hi", "Hello")))
        groups.add(event._replace(session_id=event.group), T + at, reader, RULES)
    ((name, group),) = groups.take_due(T + 30_000, RULES)
    groups.named(name, group, RULES, Counter())
    assert [row["request"]["user"] for row in json.loads(groups.closed[name].events)] == ["u1", "u2"]
