"""Parses the address of the receiver."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from turnwise.pipeline.service.token import TOKEN, bearer_token
from turnwise.pipeline.store.urls import is_loopback
from turnwise.schemas.config import ConfigError

_FORM = "otlp://HOST:PORT[?allowed_hosts=NAME,NAME]"
_PORT = 4318


class OtlpAddress(NamedTuple):
    """Where a receiver listens, and who may send.

    Attributes:
        host: Name or address of this machine.
        port: 0: any free port.
        allowed_hosts: Further names of this machine that requests may have in their Host header.
        token: Bearer token that requests must have; "": none.
    """

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    token: str


def parse_address(uri: str, environ: Mapping[str, str]) -> OtlpAddress:
    """Parses `otlp://HOST:PORT?allowed_hosts=NAME,NAME`; the port is 4318 if there is none.

    Args:
        uri: The address.
        environ: Environment variables; TURNWISE_TOKEN is the token.

    Raises:
        ConfigError: A part is wrong, or other machines reach the address and there is no token.
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
