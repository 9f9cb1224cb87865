"""Options and tokens of `turnwise serve`, and errors of the service; imports no server: help is fast."""

import logging
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hmac import compare_digest
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from turnwise.pipeline.settings.options import FLAG, STORE, OptionParser, OptionRows, check_store
from turnwise.pipeline.store.urls import StoreError, is_loopback
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import FilterError, MaskError
from turnwise.schemas.proto.message import WireError


class ServeOptions(Struct, frozen=True):
    """The options of the server.

    Attributes:
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


def parse_serve_options(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> ServeOptions | None:
    """Parses the command line; returns None after printing help. Raises ConfigError."""
    parser = serve_parser()
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        return None
    given = vars(parser.parse_args(list(argv)))
    names = tuple(given.pop("allowed_hosts"))
    if environ.get(TOKEN) and not given["token_file"] and not given["stdio"]:
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

    Raises ConfigError if the file cannot be read, others may read it, or it holds something else.
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
    except (msgspec.MsgspecError, UnicodeDecodeError):
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
