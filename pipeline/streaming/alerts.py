"""What others are told of a stream: the changes of conversations and windows, and alerts."""

import http.client
import json
import logging
import os
import re
import time
import urllib.request
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import apache_beam as beam
from apache_beam.pvalue import PCollection
from msgspec.structs import asdict

from turnwise.pipeline.batch.build import METRIC_ROWS
from turnwise.pipeline.io.sinks import StreamChange
from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.settings.options import HOW_TO, check_extra
from turnwise.pipeline.streaming.local.conversations import key_of
from turnwise.schemas.config import Alert, ConfigError
from turnwise.schemas.jsonio import counted, dump_json
from turnwise.schemas.rows import plain_rows
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.windows import Contribution, RecordOutcome, WindowMetrics
from turnwise.transforms.metrics.state import RowWindow
from turnwise.transforms.text.dates import rfc3339

_FLAT = ("scores", "conversations", "failures")


def conversation_change(
    contribution: Contribution, run_id: str, revision: int, rows: Mapping[str, Sequence[Any]]
) -> StreamChange:
    """Returns the change of a conversation with its rows of all tables, of which the flat ones are taken."""
    flat = {table: plain_rows(rows[table]) for table in _FLAT}
    thing = conversation_thing(key_of(contribution.name))
    return StreamChange(run_id, thing, revision, contribution.event_time, flat)


def conversation_thing(key: int) -> str:
    """Returns what changes of a conversation speak of, by the key of its name."""
    return f"conversation {key}"


def outcome_change(outcome: RecordOutcome, run_id: str) -> StreamChange | None:
    """Returns the change of an outcome, a result above a failure of its revision; None: it has no rows."""
    contribution = outcome.contribution
    if contribution is not None:
        rows = {table: getattr(outcome, table) for table in _FLAT}
        revision = 2 * contribution.revision + bool(outcome.results)
        return conversation_change(contribution, run_id, revision, rows)
    if not outcome.failures:
        return None
    digest = blake2b(dump_json(outcome.failures), digest_size=16).hexdigest()
    return StreamChange(run_id, f"record {digest}", 0, None, {"failures": outcome.failures})


def window_change(metrics: WindowMetrics, run_id: str) -> StreamChange:
    """Returns the change of a window and app version."""
    entry = metrics.app_version, metrics.state
    window = RowWindow(metrics.window_start, metrics.window_end, metrics.pane, metrics.revision)
    rows = {table: rows_of(entry, run_id, window) for table, rows_of in METRIC_ROWS.items()}
    thing = window_thing(rfc3339(metrics.window_start), metrics.app_version)
    return StreamChange(run_id, thing, metrics.revision, metrics.window_start, rows)


def window_thing(start: str | None, app_version: str | None) -> str:
    """Returns what changes of a window, by its start in RFC 3339, and an app version speak of."""
    return f"window {start} {key_of(app_version or '')}"


# Alerts.

_TOPIC = re.compile(r"pubsub:(projects/[^/\s]+/topics/[^/\s]+)")
_TRIES = 3
_PUBLISHED_WITHIN_S = 30.0  # retries included


class AlertError(Exception):
    """An alert could not be sent; its message is one line without secrets."""


class FileAlertSink:
    """Writes alerts to a file, one JSON object per line, each once; with another sink, those it has sent.

    A sent alert is appended at once, so that a restart does not send it again. An incomplete last line of the
    file is ignored.
    """

    def __init__(self, path: Path, sink: "AlertSink | None" = None) -> None:
        self._path, self._sink = path, sink
        self._names: set[str] | None = None

    def holds(self, alert: Alert) -> bool:
        """Returns whether an alert is in the file; False if that cannot be read."""
        with suppress(OSError):
            return alert.name in self._sent()
        return False

    def _sent(self) -> set[str]:
        if self._names is None:
            names = set[str]()
            for line in self._path.read_bytes().splitlines() if self._path.exists() else ():
                with suppress(ValueError, TypeError, KeyError):
                    names.add(json.loads(line)["name"])
            self._names = names
        return self._names

    def send(self, alert: Alert) -> None:
        """Sends an alert that is not in the file, and appends it; raises AlertError."""
        try:
            sent = self._sent()
            if alert.name in sent:
                return
            if self._sink is not None:
                self._sink.send(alert)
                sent.add(alert.name)  # not once more because the disk is full
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":
                        file.write(b"\n")
                file.write(dump_json(asdict(alert)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            sent.add(alert.name)
        except OSError as error:
            raise AlertError(f"{self._path}: {error.strerror or error}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as an error: to follow it would turn POST into GET."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class WebhookAlertSink:
    """Sends each alert as one POST of its JSON object, with its name as `Idempotency-Key`."""

    def __init__(self, url: str, timeout: float = 5.0, pause: float = 0.5) -> None:
        """Creates a sink for an `http` or `https` URL, whose path and query may be secret and are not shown.

        Waits `timeout` seconds for an answer, `pause` before the second attempt, twice that before the third.
        """
        parts = urlsplit(url)
        self._url, self._timeout, self._pause = url, timeout, pause
        # With its port; a user or a password in it is refused.
        self._shown = f"webhook {parts.scheme}://{parts.netloc}"
        self._opener = urllib.request.build_opener(_NoRedirect)

    def send(self, alert: Alert) -> None:
        """Posts an alert, thrice unless the answer is 4xx other than 408 and 429; raises AlertError."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": alert.name}
        request = urllib.request.Request(self._url, dump_json(asdict(alert)), headers, method="POST")
        for number in range(1, _TRIES + 1):
            try:
                with self._opener.open(request, timeout=self._timeout):
                    return
            except urllib.error.HTTPError as error:
                problem, is_final = f"status {error.code}", error.code < 500 and error.code not in (408, 429)
                error.close()
            except (OSError, UnicodeError, http.client.HTTPException) as error:
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                problem, is_final = type(reason).__name__, False
            if is_final or number == _TRIES:
                raise AlertError(f"{self._shown}: {problem}")
            time.sleep(self._pause * 2 ** (number - 1))


class PubSubAlertSink:
    """Publishes each alert as a message: its JSON object, with attributes `name` and `rule`."""

    def __init__(self, topic: str) -> None:
        """Opens a publisher to `projects/P/topics/T`; raises ConfigError without library or credentials."""
        check_extra(f"--alerts pubsub:{topic}", "turnwise[gcp]")
        from google.auth.exceptions import GoogleAuthError
        from google.cloud.pubsub_v1 import PublisherClient

        try:
            self._publisher = PublisherClient()
        except GoogleAuthError as error:
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(f"alerts to {topic}: {reason.rstrip('.')}; {HOW_TO}") from None
        self._topic = topic

    def send(self, alert: Alert) -> None:
        """Publishes an alert, and waits until the service has accepted it; raises AlertError."""
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError

        try:
            data = dump_json(asdict(alert))
            future = self._publisher.publish(self._topic, data, name=alert.name, rule=alert.rule)
            future.result(timeout=_PUBLISHED_WITHIN_S)
        except (GoogleAPIError, GoogleAuthError, FutureTimeoutError) as error:
            message = " ".join(str(error).split()) or type(error).__name__
            raise AlertError(f"Pub/Sub {self._topic}: {message[:300]}") from None


AlertSink: TypeAlias = FileAlertSink | WebhookAlertSink | PubSubAlertSink
"""Sends alerts; those with the same name are the same alert."""


def open_alert_sink(uri: str | None, default_path: Path | None) -> AlertSink:
    """Returns the sink for a URI: a path, `https://...`, `http://...` or `pubsub:projects/P/topics/T`.

    Without one it is the default path; with a webhook or a topic, that file records which alerts were sent,
    so that a restart does not send them again. Raises ConfigError, in one line without secrets.
    """
    if uri is None:
        if default_path is None:
            raise ConfigError("alerts: --alerts is missing: name a file, a URL or a topic")
        return FileAlertSink(default_path)
    scheme = uri.partition(":")[0].lower()
    if scheme in ("http", "https"):
        try:
            parts = urlsplit(uri)
            is_good = bool(parts.hostname) and parts.port != 0 and parts.username is None
        except ValueError:
            is_good = False
        # The error does not show the URL, because it may be secret.
        if not is_good or not uri.isascii() or not uri.isprintable() or " " in uri:
            raise ConfigError("alerts: the webhook's URL must have a host, and no user, password or blanks")
        sink: AlertSink = WebhookAlertSink(uri)
    elif scheme == "pubsub":
        topic = _TOPIC.fullmatch(uri)
        if topic is None:
            raise ConfigError(f"alerts: {uri!r} is not of the form pubsub:projects/P/topics/T")
        sink = PubSubAlertSink(topic[1])
    elif "://" in uri:
        raise ConfigError(f"alerts: {scheme}:// is none of http, https, pubsub, a path")
    else:
        return FileAlertSink(Path(uri))
    return sink if default_path is None else FileAlertSink(default_path, sink)


_LOG = logging.getLogger(__name__)


@cache
def _shared_sink(uri: str | None) -> AlertSink:
    """Returns the sink of this process. Local engines create the DoFn again for every bundle."""
    return open_alert_sink(uri, None)


def _send(alert: Alert, uri: str | None) -> list[Failure]:
    try:
        _shared_sink(uri).send(alert)
    except AlertError as error:
        _LOG.warning("an alert was not sent: %s", error)
        failure = Failure("alert", "AlertError", str(error), record=dump_json(asdict(alert)).decode())
        failure.criterion, failure.app_version = alert.criterion, alert.app_version
        return [failure]
    return []


@beam.ptransform_fn
def SendAlerts(alerts: "PCollection[Alert]", uri: str | None) -> "PCollection[Failure]":
    """Sends alerts, one at a time. One that cannot be sent becomes a failure; the stream continues."""
    return alerts | "Send" >> beam.FlatMap(_send, uri)


class WaitingAlerts:
    """Alerts of a local stream until they are sent. While their sink is away they wait; the stream goes on.

    `unsent` says how many wait, and the last error, in a line; "": none.
    """

    pause, longest = 60.0, 5.0
    """Seconds of the stream until it is tried again; seconds after which a call sends no further alert."""

    def __init__(self, uri: str | None, path: Path) -> None:
        """Opens the sink of a URI (None: the path); the path holds what was sent."""
        sink = open_alert_sink(uri, path)
        assert isinstance(sink, FileAlertSink)
        self._sink, self._alerts, self._next, self.unsent = sink, deque[Alert](), 0.0, ""

    def add(self, alerts: Iterable[Alert]) -> list[str]:
        """Adds alerts that no earlier process has sent; returns what these say."""
        new = [alert for alert in alerts if not self._sink.holds(alert)]
        self._alerts.extend(new)
        return [alert.message for alert in new]

    def send(self, clock: float, is_last: bool = False) -> None:
        """Sends what waits, for a few seconds; `clock`: seconds of the stream; `is_last`: it ends."""
        if not self._alerts or (clock < self._next and not is_last):
            return
        until, problem = monotonic() + self.longest, ""
        for _ in range(len(self._alerts)):
            alert = self._alerts.popleft()
            try:
                self._sink.send(alert)
            except AlertError as error:
                problem = str(error)
                self._alerts.append(alert)  # behind those that may be sent
            if monotonic() > until and (problem or not is_last):
                break
        self.unsent = f"{counted(len(self._alerts), 'alert')} could not be sent: {problem}" if problem else ""
        if problem and not is_last:
            self._next = clock + self.pause
            complain(f"{self.unsent}; tried again every {self.pause:.0f} s")
