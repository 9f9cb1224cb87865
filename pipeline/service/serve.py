"""`turnwise serve`: options, tokens, errors, and the HTTP server; help imports no server."""

import logging
import os
import re
import socket
import traceback
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import msgspec
import uvicorn
from anyio import CapacityLimiter, fail_after, to_thread
from msgspec import Struct
from sqlalchemy import Connection, text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.settings.options import FLAG, STORE, OptionParser, OptionRows
from turnwise.pipeline.store.database import READERS, WRITERS, Store
from turnwise.pipeline.store.urls import StoreError, is_loopback
from turnwise.schemas.ces.resources import checked_name
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import FilterError, MaskError
from turnwise.schemas.proto.message import WireError


class ServeOptions(Struct, frozen=True):
    """The options of the server.

    Attributes:
        store: URL of the store.
        allowed_hosts: Host names of the server, beside its address.
        token_file: Path of the file with the tokens that requests over HTTP need; None: they need none.
    """

    store: str
    stdio: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False
    token_file: str | None = None


_OPTIONS: OptionRows = (
    ("--store", STORE,
     "sqlite:///FILE (created if it does not exist) or postgresql://... (required)"),
    ("--stdio", FLAG, "serve MCP over standard input and output instead of HTTP"),
    ("--host", {"default": "127.0.0.1", "metavar": "ADDRESS"},
     "address to listen on (default: 127.0.0.1); other than loopback requires --token_file"),
    ("--port", {"type": int, "default": 8000, "metavar": "N"}, "port (default: 8000); 0: any free port"),
    ("--allowed_hosts", {"nargs": "+", "action": "extend", "default": [], "metavar": "NAME"},
     "host names accepted in the Host and Origin headers, beside the address"),
    ("--token_file", {"metavar": "FILE"},
     'tokens that requests need: {"write": "...", "read": "..."}, or one of the two'),
    ("--read_only", FLAG, "refuse every change"),
)  # fmt: skip


def serve_parser() -> OptionParser:
    """Returns the parser of `turnwise serve`."""
    description = "Serves a store over MCP (/mcp) and REST (/v1beta), or over MCP on stdio."
    return OptionParser(_OPTIONS, prog="turnwise serve", description=description)


def parse_serve_options(
    argv: Sequence[str], environment: Mapping[str, str] = os.environ
) -> ServeOptions | None:
    """Parses the command line; returns None after printing help. Raises ConfigError."""
    parser = serve_parser()
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        return None
    given = vars(parser.parse_args(list(argv)))
    names = tuple(given.pop("allowed_hosts"))
    if environment.get(TOKEN) and not given["token_file"] and not given["stdio"]:
        raise ConfigError(f"{TOKEN} is set, which turnwise serve does not read: name a --token_file")
    options = ServeOptions(**given, allowed_hosts=names)
    if not options.store:
        raise ConfigError("--store is missing: name a store (sqlite:///FILE, postgresql://...)")
    check_store("--store", options.store)
    if not 0 <= options.port < 65_536:
        raise ConfigError(f"--port must lie between 0 and 65535, not {options.port}")
    if not (options.stdio or options.token_file or is_loopback(options.host)):
        raise ConfigError(f"--host {options.host}: other machines can reach it: name a --token_file")
    return options


# The bearer tokens of servers: of `turnwise serve` in a file, of a receiver of spans in the environment.

TOKEN = "TURNWISE_TOKEN"
"""The environment variable that holds the token of a receiver of spans."""

_FORM = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
_FORM_TEXT = "must have at least 16 letters, digits or . _ ~ + / = -"
_OF_OTHERS = 0o077


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens of a server for everything and for reading ("": there is none); it may have none."""

    write: str = ""
    read: str = ""

    def __bool__(self) -> bool:
        return bool(self.write or self.read)

    def may_write(self, given: str) -> bool:
        """Returns whether a request with a token ("": without) may change something; raises ServiceError."""
        if not self:
            return True
        for token in filter(None, (self.write, self.read)):
            if compare_digest(given.encode(), token.encode()):
                return token == self.write
        raise ServiceError("UNAUTHENTICATED", "a bearer token is required")


def bearer_token(environ: Mapping[str, str]) -> str:
    """Returns the token of the environment ("": none is set); raises ConfigError if it cannot be one."""
    token = environ.get(TOKEN, "")
    if token and not _FORM.fullmatch(token):
        raise ConfigError(f"{TOKEN}: {_FORM_TEXT}")
    return token


def read_token_file(path: str) -> Tokens:
    """Returns the tokens of a file: `{"write": "...", "read": "..."}`, or one of the two.

    Raises:
        ConfigError: The file cannot be read, others may read it, or it holds something else.
    """
    try:
        with Path(path).open("rb") as file:
            mode, data = os.fstat(file.fileno()).st_mode, file.read()
    except OSError as error:
        raise ConfigError(f"--token_file {path}: {error.strerror or error}") from None
    if mode & _OF_OTHERS:
        raise ConfigError(f"--token_file {path}: others may read it: chmod 600 {path}")
    try:
        tokens = msgspec.json.decode(data, type=Tokens)
    except msgspec.MsgspecError:
        # The message of the error may hold a part of the file.
        raise ConfigError(f'--token_file {path}: its form is {{"write": "...", "read": "..."}}') from None
    given = [token for token in (tokens.write, tokens.read) if token]
    if not given or not all(map(_FORM.fullmatch, given)):
        raise ConfigError(f"--token_file {path}: a token {_FORM_TEXT}")
    if tokens.write == tokens.read:
        raise ConfigError(f"--token_file {path}: the tokens must differ")
    return tokens


# Hides internal errors from callers.

T = TypeVar("T")
LOG = logging.getLogger("turnwise.serve")


def answered(work: Callable[[], T]) -> T:
    """Returns the result of `work`; an unexpected error is logged. Raises nothing but ServiceError."""
    try:
        return work()
    except ServiceError:
        raise
    except StoreError as error:
        LOG.error("%s", error)
        raise ServiceError("UNAVAILABLE", "the store does not answer") from None
    except Exception as error:
        # The message of an unexpected error may hold parts of the request; its location does not.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        LOG.error("%s at %s:%s", type(error).__name__, frame.filename, frame.lineno)
        raise ServiceError("INTERNAL", "internal error") from None


# Errors of the service, in the format of Google's APIs.

HTTP_CODES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}
"""Status -> HTTP status code."""

_PATH = re.compile(r"\w+((?:\.\w+|\[\d+\])*): (.*)", re.DOTALL)


class ServiceError(Exception):
    """A request is refused: a status of `HTTP_CODES`, one line, and the invalid field ("": none)."""

    def __init__(self, status: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    def to_value(self) -> JsonObject:
        """Returns the body of the response."""
        error: JsonObject = {
            "code": HTTP_CODES[self.status],
            "message": f"{self.field}: {self.message}" if self.field else self.message,
            "status": self.status,
        }
        if self.field:
            violation = {"field": self.field, "description": self.message}
            kind = "type.googleapis.com/google.rpc.BadRequest"
            error["details"] = [{"@type": kind, "fieldViolations": [violation]}]
        return {"error": error}


def invalid(field: str, reason: object) -> ServiceError:
    """Returns the error for an invalid field."""
    return ServiceError("INVALID_ARGUMENT", str(reason), field)


def not_found(name: str) -> ServiceError:
    """Returns the error for a resource that does not exist."""
    return ServiceError("NOT_FOUND", f"{name} was not found")


@contextmanager
def field_errors(field: str) -> Iterator[None]:
    """Converts errors of the body to a ServiceError that names the field."""
    try:
        yield
    except WireError as error:
        raise message_error(error, field) from None
    except (MaskError, FilterError, ValueError) as error:
        raise invalid(field, error) from None


def checked(kind: str, name: str, field: str = "parent") -> str:
    """Returns the name of a resource; raises ServiceError if it is no name of that kind."""
    with field_errors(field):
        return checked_name(kind, name)


def message_error(error: WireError, root: str = "") -> ServiceError:
    """Returns the error for an invalid message, with the path of the field below `root`."""
    match = _PATH.fullmatch(str(error))
    path, reason = (match[1].lstrip("."), match[2]) if match else ("", str(error))
    return invalid(".".join(part for part in (root, path) if part), reason)


# The HTTP server: who may talk to it, the threads that work for it, its socket and its health.

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")
_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)
_BASIC = re.compile(r"basic +([A-Za-z0-9+/=]+)", re.IGNORECASE)
_MAY_WRITE = "turnwise.may_write"
PAGES = "/ui"
"""The path of the web view, to which the root leads. Its pages only read: a browser may send their token."""


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


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
        if len(hosts) != 1 or not self._is_host(hosts[0]):
            raise ServiceError("PERMISSION_DENIED", "the Host header names another server (--allowed_hosts)")
        if any(not self._is_origin(origin, hosts[0]) for origin in _header(scope, b"origin")):
            raise ServiceError("PERMISSION_DENIED", "the Origin header names another site")

    def _is_host(self, authority: str) -> bool:
        match = _AUTHORITY.fullmatch(authority)
        if match is None:
            return False
        name = match[1].lower()
        return name in self._names or is_loopback(name) or (self._takes_addresses and _is_address(name))

    def _is_origin(self, origin: str, host: str) -> bool:
        match = _ORIGIN.fullmatch(origin)
        authority = _AUTHORITY.fullmatch(match[1]) if match else None
        if match is None or authority is None:
            return False
        name = authority[1].lower()
        return match[1].lower() == host.lower() or name in self._names or is_loopback(name)


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


class Health:
    """Answers `/healthz`. It has a thread of its own, so that it waits for no other request."""

    def __init__(self, store: Store) -> None:
        self._store, self._limit = store, CapacityLimiter(1)

    async def answer(self, request: Request) -> Response:
        """Answers 200 if the store can be read within five seconds, else 503."""
        try:
            with fail_after(_SECONDS):
                work = partial(self._store.read, _read_nothing)
                await to_thread.run_sync(work, limiter=self._limit, abandon_on_cancel=True)
        except (StoreError, TimeoutError):
            return JSONResponse({"status": "the store does not answer"}, 503)
        return JSONResponse({"status": "ok"})


def _read_nothing(connection: Connection) -> None:
    connection.execute(text("SELECT 1 FROM evaluations LIMIT 1"))
