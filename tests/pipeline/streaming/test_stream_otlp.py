"""A stream that OpenTelemetry's own SDK exports to, over a crash of the stream."""

import json
import os
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

TALK, ASKED, SAID = "talk-1", ("Where is order 7?", "Thanks"), ("It is on its way.", "You are welcome.")
RESOURCE = {
    "service.name": "desk",
    "service.version": "7.0",
    "deployment.environment.name": "staging",
    "vcs.ref.head.revision": "abc123",
}


ROWS = Path(__file__).with_name("rows").joinpath("stream_otlp.jsonl")
LINES = [*map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())]


def speak(provider: TracerProvider, index: int) -> None:
    """Records the spans of one turn as an instrumented agent does."""
    tracer = provider.get_tracer("desk")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": TALK}
    with tracer.start_as_current_span("invoke_agent desk", attributes=agent):
        for name, attributes in LINES[index]["turn"]:
            tracer.start_span(name, attributes=attributes).end()


class Twice(SpanExporter):
    """Exports every batch twice, as a client does that did not get the first answer."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        assert self._exporter.export(spans) is SpanExportResult.SUCCESS
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        self._exporter.shutdown()


@pytest.fixture
def exporting() -> Iterator[Callable[..., TracerProvider]]:
    """Returns a function that makes a provider which exports to a receiver; all are shut down in the end."""
    providers: list[TracerProvider] = []

    def make(url: str, compression: Compression, is_batch: bool = True) -> TracerProvider:
        exporter = Twice(OTLPSpanExporter(f"{url}/v1/traces", compression=compression, timeout=120))
        processor = BatchSpanProcessor(exporter) if is_batch else SimpleSpanProcessor(exporter)
        providers.append(TracerProvider(resource=Resource.create(RESOURCE), shutdown_on_exit=False))
        providers[-1].add_span_processor(processor)
        return providers[-1]

    yield make
    for provider in providers:
        provider.shutdown()


@pytest.fixture
def receiving(stream: Any, tmp_path: Path) -> Callable[..., tuple[Any, str]]:
    """Returns a function that starts the stream, and returns it with the address that it names."""
    config = tmp_path / "config.json"
    criteria = {"turn_latency": {}, "tool_call_latency": {}}
    config.write_text(json.dumps({"criteria": criteria, "app_version_from": ["vcs.ref.head.revision"]}))

    def start(*arguments: str, **environment: str) -> tuple[Any, str]:
        given = ["--input", "otlp://127.0.0.1:0", "--config", config, *arguments]
        one = stream(tmp_path / "out", *given, env={**os.environ, **environment})
        line = one.process.stderr.readline()
        assert "receives OTLP/HTTP at http://127.0.0.1:" in line, line + one.finish().err
        return one, line.split()[4]

    return start


def test_two_turns_that_an_sdk_exports_over_a_crash(receiving, exporting):
    first, url = receiving()
    provider = exporting(url, Compression.Gzip)
    speak(provider, 0)
    assert provider.force_flush(120_000)
    first.kill()
    second, url = receiving()
    speak(exporting(url, Compression.NoCompression, is_batch=False), 1)
    done = second.signal().finish()
    assert done.status == 0, done.err
    (row,) = [row for row in done.rows("conversations") if row["conversation_id"] == TALK]
    assert (row["turns"], row["tool_calls"], row["tokens_in"], row["tokens_out"]) == (2, 1, 50, 17)
    assert (row["app_version"], row["tags"]) == ("abc123", ["staging"])
    turns = row["transcript"]["turns"]
    assert [(turn["user"], turn["agent"]) for turn in turns] == list(zip(ASKED, SAID, strict=True))
    (call,) = turns[0]["tool_calls"]
    assert (call["name"], call["args"], call["result"]) == ("find_order", {"id": 7}, {"state": "sent"})
    assert done.rows("failures") == []
    counts = done.document("run.json")["counts"]
    # The first turn is one request, the second one of every span; each was sent twice.
    assert (counts["conversations"], counts["results"], counts["records"]) == (1, 1, 6)


def test_content_in_log_records_over_json_and_refused_spans(receiving):
    one, url = receiving(TURNWISE_TOKEN="token-of-the-tests")
    headers = {"Content-Type": "application/json", "Authorization": "Bearer token-of-the-tests"}
    for path, sent, rejected in (line["sent"] for line in LINES if "sent" in line):
        request = urllib.request.Request(url + path, json.dumps(sent).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            assert json.load(response)["partialSuccess"][rejected] == "1"
    done = one.signal().finish()
    (row,) = done.rows("conversations")
    (turn,) = row["transcript"]["turns"]
    assert (row["conversation_id"], turn["user"], turn["agent"]) == (TALK, ASKED[0], SAID[0])
    assert "1 spans were refused" in done.err
    assert done.document("run.json")["unread"] == ["otlp: 1 spans were refused: they lack ids"]
