"""Scores as OpenTelemetry events, to a receiver that decodes them."""

import json
import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from tests.served import http_served
from tests.tables import document_of, rows_of
from turnwise.pipeline.cli.main import main

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c-1", "gen_ai.request.model": "m"}
WORDS = {
    "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}],
    "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}],
}
SPAN = {
    **{"trace_id": TRACE, "span_id": "00f067aa0ba902b7", "name": "chat m", "parent_span_id": None},
    **{"start_time": "2026-11-01T00:00:00Z", "end_time": "2026-11-01T00:00:02Z"},
    "attributes": CHAT | {key: json.dumps(value) for key, value in WORDS.items()},
}
PLAIN = {"conversation_id": "c-2", "app_version": "v1", "turns": [{"user": "Hi", "agent": "Hello"}]}


@contextmanager
def receiver(answers):
    """A receiver; yields its address and what it took. `answers`: requests counted from 0 -> its answer."""
    taken, lock, count = [], threading.Lock(), iter(range(10**6))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                status, rejected = answers(next(count))
                if status == 200 and not rejected and self.path == "/v1/logs":
                    taken.extend(
                        (scope.scope.name, record)
                        for resource in ExportLogsServiceRequest.FromString(body).resource_logs
                        for scope in resource.scope_logs
                        for record in scope.log_records
                    )
            answer = ExportLogsServiceResponse()
            answer.partial_success.rejected_log_records = rejected
            answer.partial_success.error_message = "too old" if rejected else ""
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.SerializeToString())

        def log_message(self, *_):
            pass

    with http_served(Handler) as url:
        yield url.replace("http", "otlp", 1), taken


def run(folder, records, url, *more):
    """Runs over records, one a file; returns exit status, `run.json` and the score rows."""
    logs = folder / "logs"
    logs.mkdir()
    for number, record in enumerate(records):
        (logs / f"{number}.jsonl").write_text(json.dumps(record) + "\n")
    criteria = {"turn_latency": {"threshold": 1.0}, "response_match_score": 0.5}
    (folder / "config.json").write_text(json.dumps({"criteria": criteria}))
    options = ("--input", str(logs), "--config", str(folder / "config.json"), "--output", str(folder / "out"))
    status = main(["run", *options, "--scores_to", url, *more])
    document = document_of(folder / "out", "run.json") if status != 2 else None
    return status, document, rows_of(folder / "out", "scores")


def attributes(record):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in record.attributes}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_score_is_an_event_at_the_span_that_was_scored(tmp_path, workers):
    with receiver(lambda number: (200, 0)) as (url, taken):
        status, _, rows = run(
            tmp_path,
            [SPAN, *({**PLAIN, "conversation_id": f"p-{i}"} for i in range(9))],
            url,
            "--workers",
            workers,
            "--store",
            f"sqlite:///{tmp_path}/store.db",
        )
    with sqlite3.connect(tmp_path / "store.db") as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (len(rows),)
    assert status == 0 and len(rows) > 10
    sent = {
        (held["gen_ai.conversation.id"], held["turnwise.score_id"]): (record, held)
        for _, record in taken
        if (held := attributes(record))
    }
    assert len(taken) == len(sent) and sent.keys() == {
        (row["conversation_id"], row["score_id"]) for row in rows
    }
    for row in rows:
        record, held = sent[row["conversation_id"], row["score_id"]]
        assert record.event_name == "gen_ai.evaluation.result"
        assert held["gen_ai.evaluation.name"] == row["criterion"]
        assert held.get("gen_ai.evaluation.score.value") == row["value"]
        assert held.get("gen_ai.evaluation.score.label") == (row["outcome"] and row["outcome"].lower())
        assert held.get("gen_ai.evaluation.explanation") == (row["explanation"] or row["reason"])
        assert held.get("error.type") == (None if row["value"] is not None else "no_score")
        is_span, is_turn = row["conversation_id"] == "c-1", row["turn_index"] is not None
        assert record.trace_id.hex() == (TRACE if is_span else "")
        assert record.span_id.hex() == (SPAN["span_id"] if is_span and is_turn else "")
    assert {"pass", "fail"} & {held.get("gen_ai.evaluation.score.label") for _, held in sent.values()}
    assert "no_score" in {held.get("error.type") for _, held in sent.values()}


@pytest.mark.parametrize(
    ("later", "why"), [((400, 0), "HTTP 400"), ((200, 2), "2 of"), ((401, 0), "HTTP 401")]
)
def test_what_is_not_delivered_is_an_error(tmp_path, capsys, later, why):
    with receiver(lambda number: later if number else (200, 0)) as (url, _):
        status, document, rows = run(tmp_path, [SPAN], url)
    assert status == 1 and rows
    told = capsys.readouterr()
    assert "scores were not delivered" in told.err and "scores: not all sent to" in told.out
    assert why in json.dumps(document)


def test_redaction_shows_the_address_that_was_typed(tmp_path, capsys):
    with receiver(lambda number: (400, 0) if number else (200, 0)) as (url, _):
        status, document, _ = run(tmp_path, [SPAN], url, "--redact", "default")
    assert status == 1 and f"--scores_to {url}" in " ".join(capsys.readouterr().err.split())
    assert f"--scores_to {url}" in " ".join(document["problems"])


@pytest.mark.parametrize("answer", [(404, 0), None])
def test_a_receiver_that_takes_nothing_is_told_before_the_run(tmp_path, capsys, answer):
    with receiver(lambda number: answer or (200, 0)) as (url, _):
        status, _, rows = run(tmp_path, [PLAIN], url if answer else "otlp://127.0.0.1:9")
    assert (status, rows) == (2, [])
    assert "takes no OpenTelemetry logs" in capsys.readouterr().err


def test_a_stream_sends_its_scores(tmp_path):
    options = ("--streaming", "--max_run_time", "3", "--judge", "none")
    with receiver(lambda number: (200, 0)) as (url, taken):
        status, document, rows = run(tmp_path, [SPAN, PLAIN], url, *options)
    assert (status, len(taken), document["scores_to"]) == (0, len(rows), url) and rows
