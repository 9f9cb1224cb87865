"""Measures how many spans of OTLP/JSON are read and joined per CPU second.

Usage: python -m benchmarks.spans [CONVERSATIONS] [--json FILE]

Each conversation has three turns, each turn is a trace of 20 spans: an agent, four model calls that repeat
the history, three tool calls, and twelve HTTP calls. A line of the file is an export request of 100 spans, as
the collector's file exporter writes it.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import turnwise
from benchmarks.figures import Check, Found, Table, run_benchmark
from turnwise.pipeline.batch.process import calm_collector
from turnwise.schemas.jsonio import JsonObject, JsonValue

TURNS, SPANS_A_TURN, SPANS_A_LINE = 3, 20, 100
_START = 1_760_000_000_000_000_000
_MODELS, _TOOLS = 4, 3
_HTTP: JsonObject = {"http.method": "POST", "http.status_code": 200, "net.port": 1}
_WARM_UP = {"conversation_id": "c", "turns": [{"user": "Hi", "agent": "Hello"}]}


def conversation_spans(number: int) -> Iterator[JsonObject]:
    """Yields the spans of one conversation, children before their parents."""
    history: list[JsonObject] = []
    for turn in range(TURNS):
        trace, at = f"{number + 1:020x}{turn:012x}", _START + (number * TURNS + turn) * 10**10
        history.append(_message("user", f"Where is order {number}-{turn}? " + "Please tell me. " * 10))
        for step in range(_MODELS):
            answer = _message("assistant", f"It is on its way, {turn}. " + "Thank you for waiting. " * 10)
            if step < _TOOLS:
                call = {
                    "type": "tool_call",
                    "id": f"c{step}",
                    "name": "get_order",
                    "arguments": {"part": step},
                }
                answer = {"role": "assistant", "parts": [call]}
            yield _span(trace, f"b{step}", at + step, {
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.provider.name": "p",
                "gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([answer]),
                "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20,
            })  # fmt: skip
            history.append(answer)
            if step < _TOOLS:
                yield _span(trace, f"c{step}", at + step, {
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_order",
                    "gen_ai.tool.call.id": f"c{step}", "gen_ai.tool.call.arguments": f'{{"part": {step}}}',
                    "gen_ai.tool.call.result": "shipped",
                })  # fmt: skip
                told = {"type": "tool_call_response", "id": f"c{step}", "response": "shipped"}
                history.append({"role": "tool", "parts": [told]})
        for step in range(SPANS_A_TURN - _MODELS - _TOOLS - 1):
            yield _span(trace, f"d{step}", at + step, _HTTP)
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": f"talk-{number}"}
        yield _span(trace, "a", at, agent, parent="")


def _message(role: str, text: str) -> JsonObject:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _span(trace: str, own: str, at: int, attributes: JsonObject, parent: str = "a") -> JsonObject:
    pairs = [{"key": key, "value": _typed(value)} for key, value in attributes.items()]
    return {
        "traceId": trace,
        "spanId": own.ljust(16, "f"),
        "parentSpanId": parent.ljust(16, "f") if parent else "",
        "name": own,
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 10**6),
        "attributes": pairs,
        "status": {},
    }


def _typed(value: JsonValue) -> JsonObject:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def write_spans(path: Path, conversations: int) -> int:
    """Writes a file of export requests and returns the number of spans."""
    count, line = 0, list[JsonObject]()
    with path.open("w") as file:
        for number in range(conversations):
            for span in conversation_spans(number):
                line.append(span)
                count += 1
                if len(line) == SPANS_A_LINE:
                    file.write(_export(line))
                    line = []
        if line:
            file.write(_export(line))
    return count


def _export(spans: list[JsonObject]) -> str:
    scope = {"scope": {"name": "bench"}, "spans": spans}
    resource = {"attributes": [{"key": "service.version", "value": {"stringValue": "v1"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}) + "\n"


def measure(options: argparse.Namespace) -> Found:
    conversations = options.conversations
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "spans.jsonl"
        spans = write_spans(path, conversations)
        turnwise.read_conversations(_WARM_UP)
        calm_collector()
        before = time.process_time()
        found = turnwise.read_conversations(path)
        seconds = time.process_time() - before
        size = path.stat().st_size / 1e6
    checks = [
        Check("every conversation is read", len(found) == conversations),
        Check("every turn is read", all(len(one.turns) == TURNS for one in found)),
        Check("every call is read", all(len(t.tool_calls) == _TOOLS for one in found for t in one.turns)),
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    columns = ("spans", "MB", "CPU s", "peak MB", "spans per CPU s", "turns per CPU s")
    rate = spans / seconds
    row = [spans, size, seconds, peak, rate, rate / SPANS_A_TURN]
    return Found([Table("reading and joining", columns, [row])], checks)


def main(argv: Sequence[str]) -> int:
    """Returns 1 if something was not read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spans", allow_abbrev=False)
    parser.add_argument("conversations", type=int, nargs="?", default=500)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
