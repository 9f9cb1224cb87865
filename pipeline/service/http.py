"""The HTTP server: who may talk to it, the threads that work for it, its socket and its health."""

import re
import socket
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import uvicorn
from anyio import CapacityLimiter, fail_after, to_thread
from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.pipeline.service.serve import HTTP_CODES, ServiceError, Tokens, answered
from turnwise.pipeline.store.database import READERS, WRITERS, Store
from turnwise.pipeline.store.urls import StoreError, address_of, is_loopback
from turnwise.schemas.config import ConfigError

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")
_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)
_BASIC = re.compile(r"basic +([A-Za-z0-9+/=]+)", re.IGNORECASE)
_MAY_WRITE = "turnwise.may_write"
PAGES = "/ui"
"""The path of the web view, to which the root leads. Its pages only read: a browser may send their token."""


class AuthMiddleware:
    """Passes permitted requests to an application and refuses others.

    By DNS rebinding, a web page can send requests to this server under a foreign host name, which appears in
    Host and Origin. Therefore only known names are accepted. IP addresses cannot be rebound.
    """

    def __init__(self, app: ASGIApp, host: str, allowed_hosts: Sequence[str], tokens: Tokens) -> None:
        """Creates the middleware."""
        self._app, self._tokens = app, tokens
        self._names = {name.lower() for name in (host, *allowed_hosts)}
        self._takes_addresses = not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check_names(scope)
            scope[_MAY_WRITE] = self._tokens.may_write(_token(scope))
        except ServiceError as refusal:
            scheme = 'Basic realm="turnwise"' if _is_page(scope) else "Bearer"
            headers = {"WWW-Authenticate": scheme} if refusal.status == "UNAUTHENTICATED" else None
            await JSONResponse(refusal.to_value(), HTTP_CODES[refusal.status], headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_names(self, scope: Scope) -> None:
        hosts = _header(scope, b"host")
        host = _AUTHORITY.fullmatch(hosts[0]) if len(hosts) == 1 else None
        is_address = bool(host and self._takes_addresses and address_of(host[1].lower()) is not None)
        if host is None or not (is_address or self._is_known(host[1])):
            raise ServiceError("PERMISSION_DENIED", "the Host header names another server (--allowed_hosts)")
        for origin in _header(scope, b"origin"):
            site = _ORIGIN.fullmatch(origin)
            authority = _AUTHORITY.fullmatch(site[1]) if site else None
            is_here = authority is not None and authority[0].lower() == host[0].lower()
            if authority is None or not (is_here or self._is_known(authority[1])):
                raise ServiceError("PERMISSION_DENIED", "the Origin header names another site")

    def _is_known(self, name: str) -> bool:
        return name.lower() in self._names or is_loopback(name.lower())


def may_write(request: Request) -> bool:
    """Returns whether a request that was let through may change something."""
    return bool(request.scope[_MAY_WRITE])


def _token(scope: Scope) -> str:
    """Returns the token of a request; "": there is none, or several."""
    given = _header(scope, b"authorization")
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    if match is not None or not _is_page(scope):
        return match[1] if match else ""
    match = _BASIC.fullmatch(given[0]) if len(given) == 1 else None
    try:
        return b64decode(match[1], validate=True).decode().partition(":")[2] if match else ""
    except ValueError:
        return ""


def _is_page(scope: Scope) -> bool:
    path: str = scope["path"]
    return path in ("/", PAGES) or path.startswith(f"{PAGES}/")


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


# Runs requests in threads and hides internal errors from callers.

T = TypeVar("T")


class Workers:
    """The worker threads of a server.

    Requests that change the store wait for each other. They have threads of their own, so that readers do
    not wait for them.
    """

    def __init__(self) -> None:
        self._readers, self._writers = CapacityLimiter(READERS), CapacityLimiter(WRITERS)

    async def run(self, work: Callable[[], T], *, changes: bool) -> T:
        """Returns the result of `work`. Converts all errors to ServiceError."""
        return await to_thread.run_sync(answered, work, limiter=self._writers if changes else self._readers)


# Opens the socket of a server, and makes the server.

_SHUTDOWN_SECONDS = 5


def listening(host: str, port: int, option: str) -> socket.socket:
    """Returns a listening socket (port 0: any free one); raises ConfigError that names the option."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY; otherwise small answers wait 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(f"{option}: {error.strerror or error}") from None
    return listener


def shown_url(listener: socket.socket) -> str:
    """Returns the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def web_server(app: ASGIApp, lifespan: bool = True) -> uvicorn.Server:
    """Returns a server without a log of requests, which may be confidential."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)


# Says whether the server and its store answer.

_SECONDS = 5.0


def health_of(store: Store) -> Callable[[Request], Awaitable[Response]]:
    """Returns what answers `/healthz`: 200 if the store can be read within five seconds, else 503."""
    # A thread of its own, so that it waits for no other request.
    limit, query = CapacityLimiter(1), text("SELECT 1 FROM evaluations LIMIT 1")
    work = partial(store.read, lambda connection: connection.execute(query).scalar())

    async def answer(request: Request) -> Response:
        try:
            with fail_after(_SECONDS):
                await to_thread.run_sync(work, limiter=limit, abandon_on_cancel=True)
        except (StoreError, TimeoutError):
            return JSONResponse({"status": "the store does not answer"}, 503)
        return JSONResponse({"status": "ok"})

    return answer
