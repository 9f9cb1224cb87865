"""A source that receives spans and log records."""

import os
from collections.abc import Mapping
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.service.serve import TOKEN, bearer_token
from turnwise.pipeline.settings.options import check_extra
from turnwise.pipeline.store.urls import is_loopback
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceOptions, SourceRecord
from turnwise.pipeline.streaming.inputs.otlp_spool import Spool
from turnwise.schemas.config import ConfigError
from turnwise.transforms.formats.registry import AUTO, FORMATS

_FORM = "otlp://HOST:PORT[?allowed_hosts=NAME,NAME]"
_PORT = 4318


class OtlpAddress(NamedTuple):
    """Where a receiver listens (port 0: any free one), this machine's further names, a token (or "")."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    token: str


def parse_address(uri: str, environ: Mapping[str, str]) -> OtlpAddress:
    """Parses `otlp://HOST:PORT?allowed_hosts=NAME,NAME`; the port is 4318 if there is none.

    The environment variable TURNWISE_TOKEN is the token. Raises ConfigError if a part is wrong, or other
    machines reach the address and there is no token.
    """
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", _PORT if parts.port is None else parts.port
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise ConfigError(f"--input {uri}: {error}; its form is {_FORM}") from None
    if "@" in parts.netloc:
        raise ConfigError(f"--input otlp://...: a password does not belong in the address; set {TOKEN}")
    names = given.pop("allowed_hosts", "")
    if not host or parts.path.strip("/") or parts.fragment or given:
        raise ConfigError(f"--input {uri}: its form is {_FORM}")
    token = bearer_token(environ)
    if not token and not is_loopback(host):
        raise ConfigError(f"--input {uri}: other machines can reach it: set {TOKEN}, a bearer token")
    return OtlpAddress(host, port, tuple(name for name in names.split(",") if name), token)


class OtlpSource(Spool):
    """Reads what a server in this process receives. A request is on disk before it is answered.

    A position is the number of a request. The server ends first; then what it received is read.
    """

    def __init__(
        self, uri: str, address: OtlpAddress, options: SourceOptions, checkpoints: Checkpoints
    ) -> None:
        """Starts the server, which refuses larger bodies than a record may be. Raises ConfigError."""
        from turnwise.pipeline.service.http import AuthMiddleware, listening, shown_url, web_server
        from turnwise.pipeline.service.serve import Tokens
        from turnwise.pipeline.streaming.inputs.otlp_app import OtlpApp

        super().__init__(options.directory, checkpoints)
        try:
            self._listener = listening(address.host, address.port, f"--input {uri}")
            self.url = shown_url(self._listener)
            app, tokens = OtlpApp(self, options.max_record_bytes), Tokens(write=address.token)
            guarded = AuthMiddleware(app, address.host, address.allowed_hosts, tokens)
            self._server = web_server(guarded, lifespan=False)
            sockets = {"sockets": [self._listener]}
            self._thread = Thread(target=self._server.run, kwargs=sockets, name="turnwise-otlp", daemon=True)
            self._thread.start()
        except BaseException:
            super().close()
            raise

    def poll(self, limit: int) -> list[SourceRecord]:
        """Returns what was received, at most `limit` requests; raises OSError if the server has ended."""
        items = super().poll(limit)
        if not items and not self._thread.is_alive():
            raise OSError(f"the receiver at {self.url} has ended")
        return items

    def last_items(self) -> list[SourceRecord]:
        """Ends the server after the requests that it has begun to answer, and returns what it received."""
        self._stop()
        return super().last_items()

    def _stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def close(self) -> None:
        """Ends the server and closes the file. A later process reads what was not settled."""
        self._stop()
        super().close()


def open_receiver(uri: str, options: SourceOptions, checkpoints: Checkpoints) -> OtlpSource:
    """Opens a receiver and names its address on standard error; raises ConfigError."""
    address = parse_address(uri, os.environ)
    check_extra("--input otlp://...", "turnwise[otlp]")
    name = options.input_format
    if name != AUTO and not FORMATS[name].recognises({"resourceSpans": []}):
        raise ConfigError(f"--input_format {name}: what {uri} receives is of another format")
    source = OtlpSource(uri, address, options, checkpoints)
    complain(f"receives OTLP/HTTP at {source.url} (OTEL_EXPORTER_OTLP_ENDPOINT={source.url})")
    return source
