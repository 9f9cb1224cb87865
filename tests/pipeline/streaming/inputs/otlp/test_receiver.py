"""Requests to the receiver, their answers, and what is stored."""

import gzip
import json
import socket
import urllib.error
import urllib.request
import zlib
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

from tests.sources import wait_for
from tests.tables import stated
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.run_writer import clear_directory
from turnwise.pipeline.streaming.inputs.base import SourceOptions
from turnwise.pipeline.streaming.inputs.open import left_before, open_source
from turnwise.pipeline.streaming.inputs.otlp import OtlpAddress, OtlpSource, parse_address
from turnwise.pipeline.streaming.inputs.otlp_spool import Export, Spool
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.config import ConfigError
from turnwise.schemas.run import StreamRules
from turnwise.transforms.formats.traces.containers import otlp_spans

JSON, PROTOBUF = "application/json", "application/x-protobuf"
LIMIT = 4000
TRACE, SPAN, END = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 1_760_000_002_500_000_000
Answer = namedtuple("Answer", "status body headers")
LOCAL = OtlpAddress("127.0.0.1", 0, (), "")


def post(url, body, kind=JSON, path="/v1/traces", **headers):
    """Sends a body; keywords are further headers, with _ for -. Returns status, body and headers."""
    named = {"Content-Type": kind, **{key.replace("_", "-"): value for key, value in headers.items()}}
    request = urllib.request.Request(url + path, body, named, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return Answer(response.status, response.read(), response.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(), error.headers)


def span(**fields):
    times = {"startTimeUnixNano": str(END - 1000), "endTimeUnixNano": str(END)}
    return {"traceId": TRACE, "spanId": SPAN, "name": "chat m", **times, **fields}


def exported(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def messages(span_id=SPAN):
    """Returns a request with a span that has attributes of all types."""
    sent = json.loads(Path(__file__).with_name("all_kinds.json").read_text(encoding="utf-8"))
    request = ParseDict(sent, traces.ExportTraceServiceRequest())
    (one,) = request.resource_spans[0].scope_spans[0].spans
    one.trace_id, one.span_id = bytes.fromhex(TRACE), bytes.fromhex(span_id)
    return request


@pytest.fixture
def receive(tmp_path, checkpoints):
    """Returns a function that opens a receiver; all are closed in the end."""
    opened = []

    def start(uri="otlp://127.0.0.1:0"):
        opened.append(open_source([uri], SourceOptions(LIMIT, None, tmp_path), checkpoints))
        return opened[-1]

    yield start
    for source in opened:
        source.close()


def test_a_request_of_json_is_a_record_as_it_was_sent(receive):
    source, body = receive(), exported(span())
    answer = post(source.url, body, "application/json; charset=utf-8")
    assert answer[:2] == (200, b"{}")
    assert answer.headers["content-type"] == JSON
    (item,) = source.poll(9)
    assert (item.source, item.position, item.data, item.event_time) == ("otlp", 1, body, END / 1e9)
    assert item.published is not None
    assert source.poll(9) == [] and source.backlog() == 0


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("GZIP", lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:])),
        ("deflate", zlib.compress),
    ],
)
def test_a_request_of_protobuf_is_read_as_the_same_in_json(receive, encoding, compress):
    source, body = receive(), compress(messages().SerializeToString())
    answer = post(source.url, body, PROTOBUF, Content_Encoding=encoding)
    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert traces.ExportTraceServiceResponse.FromString(answer.body) == traces.ExportTraceServiceResponse()
    (item,) = source.poll(9)
    (read,) = otlp_spans(json.loads(item.data))
    assert (read.trace, read.id, read.parent, read.name, read.scope) == (TRACE, SPAN, "", "chat m", "desk")
    assert (read.start, read.end, read.is_log) == (0, END, False)
    assert (read.error, read.message, read.resource) == (True, "it broke", {"service.version": "v7"})
    assert (read.events[0].name, read.events[0].attributes) == ("exception", {"e": "x"})
    assert read.attributes == {
        **{"text": "ä", "whole": 2**60, "zero": 0, "no": False, "half": 0.5, "none": "NaN", "raw": "AA=="},
        **{"list": ["a"], "map": {"k": 1}, "empty": None},
    }


def test_log_records_are_received_and_those_without_a_trace_refused(receive):
    source = receive()
    request = logs.ExportLogsServiceRequest()
    scoped = request.resource_logs.add().scope_logs.add()
    record = scoped.log_records.add(event_name="gen_ai.choice", observed_time_unix_nano=END)
    record.trace_id, record.span_id = bytes.fromhex(TRACE), bytes.fromhex(SPAN)
    record.body.kvlist_value.values.add(key="content").value.string_value = "Hello"
    scoped.log_records.add(event_name="started").body.string_value = "the server has started"
    answer = post(source.url, request.SerializeToString(), PROTOBUF, "/v1/logs")
    partial = logs.ExportLogsServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_log_records) == (200, 1)
    assert "1 log records" in partial.error_message
    (item,) = source.poll(9)
    (read,) = otlp_spans(json.loads(item.data))
    assert (read.trace, read.id, read.is_log, read.end) == (TRACE, SPAN, True, END)
    assert (read.events[0].name, read.events[0].body) == ("gen_ai.choice", {"content": "Hello"})
    assert source.refused() == []


def test_spans_without_ids_are_refused_and_named(receive):
    source = receive()
    spans = [span(), span(spanId=""), span(traceId="0" * 32), span(traceId=None)]
    answer = post(source.url, exported(*spans))
    assert answer.status == 200
    assert json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "3"
    (item,) = source.poll(9)
    assert [one.id for one in otlp_spans(json.loads(item.data))] == [SPAN]
    request = messages("00" * 8).SerializeToString()
    answer = post(source.url, request, PROTOBUF)
    assert traces.ExportTraceServiceResponse.FromString(answer.body).partial_success.rejected_spans == 1
    assert source.poll(9) == []
    assert source.refused() == ["otlp: 4 spans were refused: they lack ids"]


def test_a_stream_without_a_receiver_is_refused_where_requests_wait(tmp_path, checkpoints, capsys):
    Spool(tmp_path, checkpoints).add(Export(b"{}", None))
    (tmp_path / "in").mkdir()
    StreamStorage(tmp_path, StreamRules()).close()
    given = ["run", "--streaming", "--input", str(tmp_path / "in"), "--output", str(tmp_path)]
    assert main(given) == 2
    assert "1 received requests were not read" in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"{}", exported(), b'{"resourceSpans": null}'])
def test_nothing_sent_is_nothing_received(receive, body):
    source = receive()
    assert post(source.url, body)[:2] == (200, b"{}")
    assert source.poll(9) == []


BROKEN_GZIP = gzip.compress(exported(span()))[:-9]
WRONG = [
    (400, 3, b"", {}),
    (400, 3, b"[" * 3000, {}),
    (400, 3, b'{"resourceLogs": []}', {}),
    (400, 3, b'{"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]}', {}),
    (400, 3, b"\xff\xff", {"kind": PROTOBUF}),
    (400, 3, BROKEN_GZIP, {"Content_Encoding": "gzip"}),
    (413, 8, exported(span(name="x" * LIMIT)), {}),
    (413, 8, b"x" * 2_000_000, {}),
    (413, 8, gzip.compress(exported(span(name="x" * 50_000_000))), {"Content_Encoding": "gzip"}),
    (415, 3, exported(span()), {"kind": "text/plain"}),
    (415, 3, exported(span()), {"Content_Encoding": "zstd"}),
    (404, 5, b"", {"path": "/v1/metrics", "kind": PROTOBUF}),
]


def test_what_is_wrong_is_answered_with_a_status_and_not_stored(receive):
    source = receive()
    for status, code, body, how in WRONG:
        answer = post(source.url, body, **how)
        is_protobuf = answer.headers["content-type"] == PROTOBUF
        assert is_protobuf == (how.get("kind") == PROTOBUF)
        said = Status.FromString(answer.body) if is_protobuf else None
        found = {"code": said.code, "message": said.message} if said else json.loads(answer.body)
        assert (answer.status, found["code"]) == (status, code), (body[:50], how, found)
        assert found["message"] and "\n" not in found["message"]
    request = urllib.request.Request(f"{source.url}/v1/traces")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(request, timeout=120)
    assert source.poll(9) == []


def test_a_full_spool_asks_to_try_again(tmp_path, checkpoints):
    body = exported(span())
    options = SourceOptions(LIMIT, directory=tmp_path)
    small = type("SmallSource", (OtlpSource,), {"most": len(body) + 1})
    with closing(small("otlp://...", LOCAL, options, checkpoints)) as source:
        assert post(source.url, body).status == 200
        full = post(source.url, body)
        assert (full.status, full.headers["retry-after"]) == (503, "5")
        (item,) = source.poll(9)
        assert post(source.url, body).status == 503, "its outcome is not on disk"
        source.settle([(item.source, item.position)])
        assert post(source.url, body).status == 200
        assert [item.position for item in source.poll(9)] == [2]


def test_a_token_is_required_where_one_is_set(tmp_path, checkpoints):
    options = SourceOptions(LIMIT, directory=tmp_path)
    address = LOCAL._replace(token="t" * 16, allowed_hosts=("desk",))
    bearer = {"Authorization": f"Bearer {'t' * 16}"}
    with closing(OtlpSource("otlp://...", address, options, checkpoints)) as source:
        body = exported(span())
        assert post(source.url, body).status == 401
        assert post(source.url, body, Authorization="Bearer wrong").status == 401
        assert post(source.url, body, **bearer, Host="elsewhere").status == 403
        assert source.poll(9) == []
        assert post(source.url, body, **bearer, Host="desk:4318").status == 200


def test_what_was_received_is_read_at_the_end_and_by_the_next_process(receive, checkpoints, tmp_path):
    source = receive()
    for number in range(3):
        assert post(source.url, exported(span(name=f"n{number}"))).status == 200
    first, second = source.poll(2)
    checkpoints.settle([first])
    (third,) = source.last_items()
    with pytest.raises(urllib.error.URLError):
        post(source.url, exported(span()))
    source.close()
    again = receive()
    assert again.backlog() == 2
    assert again.poll(9) == [second, third]
    checkpoints.settle([second, third])
    again.settle([("otlp", 2), ("otlp", 3), ("other", 4)])
    again.close()
    (tmp_path / "received.sqlite").unlink()
    last = receive()
    assert last.backlog() == 0
    assert post(last.url, exported(span())).status == 200
    (item,) = wait_for(last, 1)
    assert item.position == 4, "no number occurs twice"


def test_a_new_stream_in_the_directory_removes_what_was_received(tmp_path, checkpoints):
    spool = Spool(tmp_path, checkpoints)
    spool.add(Export(b"{}", None))
    assert {path.name for path in tmp_path.iterdir()} > {"received.sqlite"}
    clear_directory(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    spool.close()


def test_a_spool_with_damaged_pages_is_named(tmp_path, checkpoints):
    spool = Spool(tmp_path, checkpoints)
    for number in range(50):
        spool.add(Export(b"%d" % number * 3000, None))
    spool.close()
    path = tmp_path / "received.sqlite"
    text = path.read_bytes()
    path.write_bytes(text[:20_000] + b"\xff" * (len(text) - 20_000))
    for kind in ("otlp://127.0.0.1:0", "-"):
        given = [kind], SourceOptions(LIMIT, None, tmp_path), checkpoints
        with pytest.raises(ConfigError, match=r"received\.sqlite: .*(damaged|malformed)"):
            open_source(*given) if kind != "-" else left_before(*given)


def test_a_port_in_use_is_named(receive):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        uri = f"otlp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"--input {uri}: Address already in use"):
            receive(uri)
    receive(uri)


@stated("address", "uri, environ, found")
def test_addresses(uri, environ, found):
    assert parse_address(uri, environ) == (*found[:2], tuple(found[2]), found[3])


@stated("wrong address", "uri, said")
def test_wrong_addresses(uri, said):
    with pytest.raises(ConfigError, match=said) as caught:
        parse_address(uri, {})
    assert "secret" not in str(caught.value)


def test_a_format_that_is_not_received_is_refused(tmp_path, checkpoints):
    options = SourceOptions(LIMIT, None, tmp_path, "openai_chat")
    open_source(["otlp://127.0.0.1:0"], options._replace(input_format="otlp_export"), checkpoints).close()
    with pytest.raises(ConfigError, match=r"openai_chat: .* is of another format"):
        open_source(["otlp://127.0.0.1:0"], options, checkpoints)


def test_refused_spans_are_counted_over_a_crash(tmp_path, checkpoints):
    Spool(tmp_path, checkpoints).add(Export(b"{}", None), refused=2)
    Spool(tmp_path, checkpoints).add(None, refused=1)
    assert Spool(tmp_path, checkpoints).refused_spans == 3
    options = SourceOptions(LIMIT, None, tmp_path)
    with pytest.raises(ConfigError, match="1 received requests were not read; add --input otlp://"):
        left_before(["-"], options, checkpoints)
    assert left_before(["otlp://127.0.0.1:0"], options, checkpoints) == []
    checkpoints.settled["otlp"] = {1}
    assert left_before(["-"], options, checkpoints) == ["otlp: 3 spans were refused: they lack ids"]
