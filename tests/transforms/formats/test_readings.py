"""Records and spans as data, and what a person reads in them: turns, findings, and a score.

Each line of `messages/*.jsonl` and `traces/*.jsonl` is a reading: `records` (JSON values of a log) or `spans`
(of a trace, times in seconds; `{"json": ...}` stands for a JSON text) or a recorded `file`, and `reads`, the
conversations, without what is empty; long texts of files are shortened.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import turnwise
from tests.readings import FORMATS, read_file, read_value
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

HERE = Path(__file__).parent
READINGS = {
    f"{path.parent.name}/{path.stem}: {reading['name']}": reading
    for path in sorted(HERE.glob("*/*.jsonl"))
    for reading in map(json.loads, path.read_text().splitlines())
}
START = 1_760_000_000
SECOND = 1_000_000_000


def texts(held: Any) -> dict[str, Any]:
    """Returns attributes with JSON texts in place of `{"json": ...}`."""
    return {
        key: json.dumps(item["json"]) if isinstance(item, dict) and item.keys() == {"json"} else item
        for key, item in held.items()
    }


def message(said: Any) -> Any:
    """Returns a message of OpenTelemetry.

    Short ones are `{"user": "Hi"}`, `{"call": [name, args, id]}` and `{"result": [value, id]}`.
    """
    match said:
        case {"call": [name, args, own]}:
            call = {"type": "tool_call", "id": own, "name": name, "arguments": args}
            return {"role": "assistant", "parts": [call]}
        case {"result": [value, own]}:
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": own, "response": value}]}
        case dict() if len(said) == 1 and next(iter(said)) in ("system", "user", "assistant"):
            [(role, text)] = said.items()
            return {"role": role, "parts": [{"type": "text", "content": text}]}
    return said


def nanoseconds(seconds: float) -> int:
    return (START + int(seconds)) * SECOND + round(seconds % 1 * SECOND)


def span_of(held: dict[str, Any]) -> TraceSpan:
    """Returns a span: `op` is its operation and name, `in` and `out` are messages; it lasts 1 s."""
    given = {"trace": "t", "name": held.get("op", ""), **held}
    attributes = texts(given.pop("with", {}))
    for key, name in (("in", "gen_ai.input.messages"), ("out", "gen_ai.output.messages")):
        if key in held:
            attributes[name] = json.dumps(list(map(message, given.pop(key))))
    if "op" in held:
        attributes["gen_ai.operation.name"] = given.pop("op")
    if "start" in held:
        given |= {"start": nanoseconds(held["start"]), "end": nanoseconds(held.get("end", held["start"] + 1))}
    given["events"] = [
        SpanEvent(
            event.get("name", ""),
            nanoseconds(event.get("time", 0)),
            texts(event.get("attributes", {})),
            event.get("body"),
        )
        for event in given.get("events", ())
    ]
    return TraceSpan(**given, attributes=attributes)


def short(held: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in held.items() if item not in (None, [], {}, "")}


def shortened(value: Any) -> Any:
    """Returns a JSON value whose long texts are cut."""
    match value:
        case str():
            return value if len(value) <= 70 else f"{value[:60]}... ({len(value)})"
        case list():
            return [shortened(item) for item in value]
        case dict():
            return {key: shortened(item) for key, item in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def score(found: turnwise.Conversation) -> list[float | None]:
    """Returns the trajectory score of each turn, held against the calls that were read."""
    turns = [
        msgspec.structs.replace(turn, expected=turnwise.ExpectedTurn(tool_calls=turn.tool_calls))
        for turn in found.turns
    ]
    held = msgspec.structs.replace(found, turns=turns)
    rows = turnwise.evaluate(held, criteria={"tool_trajectory_avg_score": 1.0}).scores
    return [row["value"] for row in rows if row["turn_index"] is not None]


def turn_read(turn: turnwise.Turn) -> dict[str, Any]:
    usage, answers = turn.usage, turn.tool_responses
    return short(
        {
            "user": turn.user,
            "calls": [[call.name, call.args, *filter(None, [call.id])] for call in turn.tool_calls],
            "results": [[told.name, told.response, *filter(None, [told.error])] for told in answers],
            "agent": turn.agent,
            "messages": turn.agent_messages if turn.agent_messages != [turn.agent] else [],
            "transfers": turn.transfers,
            "tokens": [usage.input_tokens, usage.output_tokens] if usage else [],
            "asked_models": turn.inference_calls,
            "latency": turn.latency_ms,
            "findings": [each.kind for each in turn.findings],
            "says": "; ".join(each.message for each in turn.findings if each.kind == "UnreadPart"),
            "unknown": " ".join(
                word for word, why in (("calls", turn.unknown_calls), ("words", turn.unknown_words)) if why
            ),
        }
    )


def reads(found: turnwise.Conversation) -> dict[str, Any]:
    scores = score(found)
    beside = {"app_version": found.app_version, "state": found.state, "tags": found.tags}
    tools = [tool.name for tool in found.tools]
    ended = [each for each in (found.ended, found.ended_detail) if each]
    scored = scores if any(value != 1.0 for value in scores) else []
    named = {"id": found.conversation_id, "source": found.source, "turns": list(map(turn_read, found.turns))}
    return short({**named, "ended": ended, **beside, "tools": tools, "scores": scored})


@pytest.mark.parametrize("name", READINGS)
def test_it_is_read_as_a_person_reads_it(name: str) -> None:
    reading = READINGS[name]
    if "file" in reading:
        if not FORMATS.exists():
            pytest.skip("no recordings here")
        found = read_file(FORMATS / reading["file"])
        assert [shortened(reads(each)) for each in found.conversations] == reading["reads"]
        return
    if "records" in reading:
        found = read_value(*reading["records"])
        assert found.failures == []
        assert [reads(each) for each in found.conversations] == reading["reads"]
        return
    spans = list(map(span_of, reading["spans"]))
    assert [reads(join_spans("c", spans))] == reading["reads"]
    assert join_spans("c", spans[::-1]) == join_spans("c", spans), "the order of spans says nothing"
