"""Records and spans as data, and what a person reads in them: turns, findings, and a score.

Each line of `*/*.jsonl` is a reading: `records` (JSON values of a log, in `format` or by `config` if they are
named) or `spans` (of a trace, times in seconds; `{"json": ...}` stands for a JSON text) or a recorded `file`,
and `reads`, the conversations, without what is empty; long texts of files are shortened. `fails` are messages
of failures. If `conversations` (with `scores`) or `cases` stand in place of `reads`, they hold every field.

`python -m tests.transforms.formats.test_readings FILE.jsonl...` writes what is read today; look at the diff.
"""

import json
import sys
from pathlib import Path

import msgspec
import pytest

import turnwise
from tests.readings import FORMATS, read_file, read_value
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

HERE = Path(__file__).parent
READINGS = {
    f"{path.parent.name}/{path.stem}: {reading['name']}": reading
    for path in sorted(HERE.glob("*/*.jsonl"))
    if path.parent.name != "rows"
    for reading in map(json.loads, path.read_text().splitlines())
}
CRITERIA = {"ended_normally": 1.0, "tool_call_count_v1": 3.0, "turn_latency": {"threshold": None}}
EXPLAINED = (
    *("UnreadPart", "MissingTurn", "UnreadTime", "UnreadTokens", "UnreadPath"),
    *("CallWithoutName", "ResultWithoutCall", "SeveralVersions"),
)
START = 1_760_000_000
SECOND = 1_000_000_000


def texts(held):
    """Returns attributes with JSON texts in place of `{"json": ...}`."""
    return {
        key: json.dumps(item["json"]) if isinstance(item, dict) and item.keys() == {"json"} else item
        for key, item in held.items()
    }


def message(said):
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


def nanoseconds(seconds):
    return (START + int(seconds)) * SECOND + round(seconds % 1 * SECOND)


def span_of(held):
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


def short(held):
    return {key: item for key, item in held.items() if item not in (None, [], {}, "")}


def shortened(value):
    """Returns a JSON value whose long texts are cut."""
    match value:
        case str():
            return value if len(value) <= 70 else f"{value[:60]}... ({len(value)})"
        case list():
            return [shortened(item) for item in value]
        case dict():
            return {key: shortened(item) for key, item in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def score(found):
    """Returns the trajectory score of each turn, held against the calls that were read."""
    turns = [
        msgspec.structs.replace(turn, expected=turnwise.ExpectedTurn(tool_calls=turn.tool_calls))
        for turn in found.turns
    ]
    held = msgspec.structs.replace(found, turns=turns)
    rows = turnwise.evaluate(held, criteria={"tool_trajectory_avg_score": 1.0}).scores
    return [row["value"] for row in rows if row["turn_index"] is not None]


def turn_read(turn):
    usage, answers = turn.usage, turn.tool_responses
    return short(
        {
            "user": turn.user,
            "calls": [[call.name, call.args, *filter(None, [call.id])] for call in turn.tool_calls],
            "results": [[told.name, told.response, *filter(None, [told.error])] for told in answers],
            "user_calls": [[call.name, call.args] for call in turn.user_tool_calls],
            "user_results": [[told.name, told.response] for told in turn.user_tool_responses],
            "agent": turn.agent,
            "messages": turn.agent_messages if turn.agent_messages != [turn.agent] else [],
            "transfers": turn.transfers,
            "tokens": [usage.input_tokens, usage.output_tokens] if usage else [],
            "asked_models": turn.inference_calls,
            "latency": turn.latency_ms,
            "findings": [each.kind for each in turn.findings],
            "says": "; ".join(each.message for each in turn.findings if each.kind in EXPLAINED),
            "unknown": " ".join(
                word for word, why in (("calls", turn.unknown_calls), ("words", turn.unknown_words)) if why
            ),
        }
    )


def reads(found):
    scores = score(found)
    beside = {"app_version": found.app_version, "state": found.state, "tags": found.tags, "by": found.user_id}
    beside |= {"eval_id": found.eval_id, "eval_set_id": found.eval_set_id}
    tools = [tool.name for tool in found.tools]
    ended = [each for each in (found.ended, found.ended_detail) if each]
    scored = scores if any(value != 1.0 for value in scores) else []
    named = {"id": found.conversation_id, "source": found.source, "turns": list(map(turn_read, found.turns))}
    return short({**named, "ended": ended, **beside, "tools": tools, "scores": scored})


def stated(value):
    """Returns the fields of a model that do not have their default value, as JSON."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        defaults = {
            f.name: f.default if f.default_factory is msgspec.NODEFAULT else f.default_factory()
            for f in fields
        }
        held = {name: getattr(value, name) for name in defaults}
        return {name: stated(item) for name, item in held.items() if item != defaults[name]}
    return [stated(item) for item in value] if isinstance(value, list) else value


def scored(records):
    scores = {}
    for row in turnwise.evaluate(records, criteria=CRITERIA).scores:
        found = row["reason"] if row["value"] is None else row["value"]
        scores.setdefault(row["criterion"], []).append(found)
    return scores


def read_cases(reading, position, value):
    """Returns the eval cases of a record, or the error in place of those that are refused."""
    reader = CaseReader(turnwise.EvalConfig.model_validate(reading.get("config", {})).ces)
    try:
        return list(reader.read(Record(f"{reading['name']}.json", position, json.dumps(value).encode())))
    except ValueError as error:
        return [error]


def read_today(reading):
    """Returns what is read in a reading's records, spans or file, under its own keys."""
    if "spans" in reading:
        spans = list(map(span_of, reading["spans"]))
        assert join_spans("c", spans[::-1]) == join_spans("c", spans), "the order of spans says nothing"
        return {"reads": [reads(join_spans("c", spans))]}
    if "file" in reading:
        found = read_file(FORMATS / reading["file"]).conversations
        if "conversations" in reading:
            return {"conversations": json.loads(json.dumps(shortened(stated(found))))}
        return {"reads": [shortened(reads(one)) for one in found]}
    records = reading["records"]
    if "cases" in reading:
        items = [case for i, value in enumerate(records) for case in read_cases(reading, i, value)]
        fails = [str(item) for item in items if isinstance(item, ValueError)]
        cases = [stated(item) for item in items if not isinstance(item, ValueError)]
        return {"cases": json.loads(json.dumps(cases)), **({"fails": fails} if fails else {})}
    if "config" in reading:
        failed = []
        conversations = turnwise.read_conversations(
            records,
            config=reading["config"],
            input_format=reading.get("format", "auto"),
            on_failure=failed.append,
        )
        messages = [failure["message"] for failure in failed]
    else:
        conversations, failures = read_value(*records, input_format=reading.get("format", "auto"))
        messages = [failure.message for failure in failures]
    fails = {"fails": messages} if messages else {}
    if "conversations" in reading:
        plain = not (messages or "format" in reading or "config" in reading)
        scores = {"scores": scored(records)} if plain else {}
        whole = {"conversations": [stated(one) for one in conversations], **scores}
        return {**json.loads(json.dumps(whole)), **fails}
    return {**({"reads": list(map(reads, conversations))} if conversations else {}), **fails}


@pytest.mark.parametrize("name", READINGS)
def test_it_is_read_as_a_person_reads_it(name):
    reading = READINGS[name]
    if "file" in reading and not FORMATS.exists():
        pytest.skip("no recordings here")
    assert read_today(reading) == {key: item for key, item in reading.items() if key in WANTED}


WANTED = ("reads", "fails", "conversations", "scores", "cases")

if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        given = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [{**{k: v for k, v in one.items() if k not in WANTED}, **read_today(one)} for one in given]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
