"""Who may talk to the server: checks of Host, Origin and the bearer token, before anything else is read."""

import hmac
import re
from collections.abc import Sequence
from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.settings.addresses import is_loopback

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


class AuthMiddleware:
    """Lets requests through to an application, or answers them itself.

    A page in a browser can be made to talk to this server by a host name that leads here (DNS rebinding).
    Such a request carries that name as its Host and its Origin. So names must be known; an address cannot be
    rebound.
    """

    def __init__(self, app: ASGIApp, host: str, allowed_hosts: Sequence[str], token: str) -> None:
        """Keeps who may talk.

        Args:
            app: The application.
            host: The address that the server listens at.
            allowed_hosts: Names under which it is known besides.
            token: Bearer token of every request; "": none is needed.
        """
        self._app, self._token = app, f"Bearer {token}".encode() if token else b""
        self._names = {name.lower() for name in (host, *allowed_hosts)}
        self._takes_addresses = not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
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
