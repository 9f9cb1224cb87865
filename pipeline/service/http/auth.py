"""Checks Host, Origin and bearer token of requests before they are processed."""

import hmac
import re
from collections.abc import Sequence
from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.store.urls import is_loopback

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


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

    def __init__(self, app: ASGIApp, host: str, allowed_hosts: Sequence[str], token: str) -> None:
        """Creates the middleware.

        Args:
            app: The application.
            host: The address on which the server listens.
            allowed_hosts: Other host names of the server.
            token: Required bearer token; "": none.
        """
        self._app, self._token = app, f"Bearer {token}".encode() if token else b""
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
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer"} if refusal.status == "UNAUTHENTICATED" else None
        response = JSONResponse(refusal.to_value(), HTTP_CODES[refusal.status], headers)
        await response(scope, receive, send)

    def _refusal(self, scope: Scope) -> ServiceError | None:
        hosts = _header(scope, b"host")
        if len(hosts) != 1 or not self._is_host(hosts[0]):
            return ServiceError("PERMISSION_DENIED", "the Host header names another server (--allowed_hosts)")
        if any(not self._is_origin(origin, hosts[0]) for origin in _header(scope, b"origin")):
            return ServiceError("PERMISSION_DENIED", "the Origin header names another site")
        given = [value.encode("latin-1") for value in _header(scope, b"authorization")]
        if self._token and not (len(given) == 1 and hmac.compare_digest(given[0], self._token)):
            return ServiceError("UNAUTHENTICATED", "a bearer token is required")
        return None

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


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
