import json
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from itertools import chain, repeat
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to
from msgspec.structs import replace

from tests.served import http_served
from tests.tables import stated
from turnwise.pipeline.streaming.alerts import (
    AlertError,
    FileAlertSink,
    SendAlerts,
    WaitingAlerts,
    WebhookAlertSink,
    open_alert_sink,
)
from turnwise.schemas.config import Alert, ConfigError

ROOT = Path(__file__).parents[4]
ALERT = Alert(
    *("alerts/a-1", "quality", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", None, "verdict"),
    *("conversation", "pass_rate", 0.5, 40, "below", 0.8, None, None, None, "schlecht: größer 東京"),
)
OTHER = replace(ALERT, name="alerts/a-2", app_version="v2")


def names(path):
    return [json.loads(line)["name"] for line in path.read_text(encoding="utf-8").splitlines() if line]


def send_all(sink, *alerts):
    for alert in alerts:
        sink.send(alert)


def test_a_file_holds_every_alert_once(tmp_path):
    path = tmp_path / "new/alerts.jsonl"
    sink = FileAlertSink(path)
    send_all(sink, ALERT, ALERT)
    send_all(sink, ALERT, OTHER)
    send_all(FileAlertSink(path), OTHER, ALERT)
    assert names(path) == ["alerts/a-1", "alerts/a-2"]
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert list(row) == list(Alert.__struct_fields__)
    assert (row["value"], row["app_version"], row["message"]) == (0.5, None, ALERT.message)


@stated("cut off", "text, wanted")
def test_a_file_that_a_crash_cut_off_goes_on(tmp_path, text, wanted):
    path = tmp_path / "alerts.jsonl"
    path.write_text(text, encoding="utf-8")
    send_all(FileAlertSink(path), ALERT, OTHER)
    content = path.read_text(encoding="utf-8")
    assert content.startswith(text)
    lines = content[len(text) :].lstrip("\n").splitlines()
    assert [json.loads(line)["name"] for line in lines] == wanted
    before = path.read_bytes()
    send_all(FileAlertSink(path), ALERT, OTHER)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AlertError, match="file/alerts"):
        FileAlertSink(tmp_path / "file/alerts").send(ALERT)
    with pytest.raises(AlertError, match="directory"):
        FileAlertSink(tmp_path).send(ALERT)


class Endpoint:
    """What an HTTP server was asked, and a script of its statuses; None closes the connection."""

    def __init__(self):
        self.asked, self.url = [], ""
        self.statuses = repeat(200)

    def answer(self, *statuses):
        self.statuses = chain(statuses, repeat(statuses[-1]))


@pytest.fixture
def endpoint():
    made = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.asked.append((self.path, dict(self.headers), json.loads(body)))
            status = next(made.statuses)
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with http_served(Handler) as address:
        made.url = f"{address}/hook/SECRET?key=SECRET"
        yield made


def test_a_webhook_gets_one_post_an_alert(endpoint):
    send_all(WebhookAlertSink(endpoint.url, pause=0), ALERT, OTHER)
    assert [path for path, _, _ in endpoint.asked] == ["/hook/SECRET?key=SECRET"] * 2
    _, headers, row = endpoint.asked[0]
    assert (headers["Content-Type"], headers["Idempotency-Key"]) == ("application/json", "alerts/a-1")
    assert (row["name"], row["message"], row["p_value"]) == ("alerts/a-1", ALERT.message, None)


@stated("tries", "statuses, tries, problem")
def test_a_webhook_is_tried_three_times_where_that_may_help(endpoint, statuses, tries, problem):
    endpoint.answer(*statuses)
    sink = WebhookAlertSink(endpoint.url, pause=0)
    if problem is None:
        sink.send(ALERT)
    else:
        with pytest.raises(AlertError) as caught:
            sink.send(ALERT)
        assert problem in str(caught.value)
        assert "SECRET" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert len(endpoint.asked) == tries


NOWHERE = ["http://127.0.0.1:1/SECRET", "http://no.such.host.invalid/SECRET"]


@pytest.mark.parametrize("url", NOWHERE)
def test_a_webhook_that_is_not_there(url):
    with pytest.raises(AlertError) as caught:
        WebhookAlertSink(url, pause=0).send(ALERT)
    address = url.removesuffix("/SECRET")
    assert str(caught.value).startswith(f"webhook {address}: "), "with its port"
    assert "SECRET" not in str(caught.value)


def test_a_webhook_that_is_silent():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(AlertError, match="TimeoutError"):
            WebhookAlertSink(url, timeout=0.05, pause=0).send(ALERT)


def test_what_was_sent_is_not_sent_again_after_a_restart(endpoint, tmp_path):
    path = tmp_path / "alerts.jsonl"
    endpoint.answer(200, 404, 200)
    with pytest.raises(AlertError):
        send_all(open_alert_sink(endpoint.url, path), ALERT, OTHER)
    assert names(path) == ["alerts/a-1"]
    send_all(open_alert_sink(endpoint.url, path), ALERT, OTHER)
    send_all(open_alert_sink(endpoint.url, path), ALERT, OTHER)
    assert [row["name"] for _, _, row in endpoint.asked] == ["alerts/a-1", "alerts/a-2", "alerts/a-2"]
    assert names(path) == ["alerts/a-1", "alerts/a-2"]


def test_alerts_wait_while_their_sink_is_away(endpoint, tmp_path):
    """One that cannot be sent is tried again a minute later; one that takes long lets the others wait."""
    path = tmp_path / "alerts.jsonl"
    waiting = WaitingAlerts(endpoint.url, path)
    endpoint.answer(404, 404, 404, 200, 404, 200)
    assert waiting.add([ALERT, OTHER]) == [ALERT.message, OTHER.message]
    asked = []
    for clock, longest in ((10, 5), (69, 5), (70, 0), (130, 5), (131, 5), (190, 5)):
        waiting.longest = longest
        waiting.send(clock)
        asked.append((len(endpoint.asked), waiting.unsent.partition(" could")[0]))
    both, one = "2 alerts", "1 alert"
    assert asked == [(2, both), (2, both), (3, both), (5, one), (5, one), (6, "")]
    assert sorted(names(path)) == ["alerts/a-1", "alerts/a-2"]
    assert WaitingAlerts(endpoint.url, path).add([ALERT, OTHER]) == []
    endpoint.answer(404)
    waiting.add([replace(ALERT, name="alerts/a-3")])
    waiting.send(190.0, is_last=True)
    assert waiting.unsent.startswith("1 alert could not be sent: webhook http://127.0.0.1:")


def test_what_a_kill_left_unnoted_is_sent_again_under_its_name(endpoint, tmp_path):
    path = tmp_path / "alerts.jsonl"
    endpoint.answer(200, 200)
    open_alert_sink(endpoint.url, path).send(ALERT)
    path.write_bytes(path.read_bytes()[:-20])  # a process that is killed leaves half a line, or none
    open_alert_sink(endpoint.url, path).send(ALERT)
    keys = [headers["Idempotency-Key"] for _, headers, _ in endpoint.asked]
    assert keys == ["alerts/a-1", "alerts/a-1"]


def test_sinks_by_uri(tmp_path):
    default = tmp_path / "alerts.jsonl"
    assert isinstance(open_alert_sink(None, default), FileAlertSink)
    assert isinstance(open_alert_sink(str(tmp_path / "a:b.jsonl"), default), FileAlertSink)
    assert isinstance(open_alert_sink("https://host/x", None), WebhookAlertSink)
    assert isinstance(open_alert_sink("HTTPS://host:8443/x", default), FileAlertSink)


@stated("wrong uri", "uri")
def test_wrong_uris(uri, tmp_path):
    with pytest.raises(ConfigError) as caught:
        open_alert_sink(uri, tmp_path / "alerts.jsonl")
    assert "SECRET" not in str(caught.value) and "\n" not in str(caught.value)


def test_pubsub_without_credentials_is_a_mistake_of_the_user(tmp_path):
    pytest.importorskip("google.cloud.pubsub_v1")
    load = "from turnwise.pipeline.streaming.alerts import open_alert_sink"
    code = f"{load}\nopen_alert_sink('pubsub:projects/p/topics/t', None)"
    nothing = {"HOME": str(tmp_path), "CLOUDSDK_CONFIG": str(tmp_path), "NO_GCE_CHECK": "true"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=nothing, cwd=ROOT)
    assert "ConfigError: alerts to projects/p/topics/t: " in done.stderr.splitlines()[-1]


def test_a_sink_that_fails_gives_a_failure_and_the_stream_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    with beam.Pipeline(runner="FnApiRunner") as root:
        alerts = root | beam.Create([ALERT, OTHER], reshuffle=False)
        good = alerts | "Good" >> SendAlerts(str(tmp_path / "alerts.jsonl"))
        bad = alerts | "Bad" >> SendAlerts(str(tmp_path / "file/alerts"))
        assert_that(good, equal_to([]), "none")
        failures = bad | beam.Map(
            lambda f: (f.stage, f.error_type, f.app_version, json.loads(f.record)["name"])
        )
        wanted = [("alert", "AlertError", None, "alerts/a-1"), ("alert", "AlertError", "v2", "alerts/a-2")]
        assert_that(failures, equal_to(wanted), "both")
    assert sorted(names(tmp_path / "alerts.jsonl")) == ["alerts/a-1", "alerts/a-2"]
