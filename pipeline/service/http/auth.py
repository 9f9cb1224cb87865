"""Checks Host, Origin and token of requests before they are processed, and finds their user."""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.service.users import User
from turnwise.pipeline.store.urls import is_loopback

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")
_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)
_USER = "turnwise.user"


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


class Tokens(Protocol):
    """The tokens that a server accepts."""

    async def user_of(self, given: str) -> User:
        """Returns the user of a token ("": none was sent); raises ServiceError."""
        ...

    async def note_uses(self) -> None:
        """Writes which tokens were used; does not fail."""
        ...


class Door(Protocol):
    """What is different for the paths of the web view."""

    def covers(self, scope: Scope) -> bool:
        """Returns whether a request is for the view."""
        ...

    def is_open(self, scope: Scope) -> bool:
        """Returns whether a request of the view needs no token."""
        ...

    def token(self, scope: Scope) -> str:
        """Returns the token of a request of the view without an Authorization header; "": there is none."""
        ...

    def refused(self, refusal: ServiceError) -> Response:
        """Returns the answer to a request of the view that is refused."""
        ...


class AuthMiddleware:
    """Passes permitted requests to an application and refuses others.

    By DNS rebinding, a web page can send requests to this server under a foreign host name, which appears in
    Host and Origin. Therefore only known names are accepted. IP addresses cannot be rebound.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        allowed_hosts: Sequence[str],
        tokens: Tokens,
        door: Door | None = None,
    ) -> None:
        """Creates the middleware.

        Args:
            app: The application.
            host: The address on which the server listens.
            allowed_hosts: Other host names of the server.
            tokens: The accepted tokens.
            door: What is different for the web view; None: there is none.
        """
        self._app, self._tokens, self._door = app, tokens, door
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
        door = self._door if self._door is not None and self._door.covers(scope) else None
        try:
            self._check_names(scope)
            if door is None or not door.is_open(scope):
                scope[_USER] = await self._tokens.user_of(_token(scope, door))
        except ServiceError as refusal:
            answer = _refused(refusal) if door is None else door.refused(refusal)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)
        # The answer is sent: nobody waits for this.
        await self._tokens.note_uses()

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


def request_user(request: Request) -> User:
    """Returns the user of a request that was let through."""
    user: User = request.scope[_USER]
    return user


def _token(scope: Scope, door: Door | None) -> str:
    """Returns the token of a request; "": there is none, or several."""
    given = _header(scope, b"authorization")
    if door is not None and not given:
        return door.token(scope)
    found = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    return found[1] if found else ""


def _refused(refusal: ServiceError) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == "UNAUTHENTICATED" else None
    return JSONResponse(refusal.to_value(), HTTP_CODES[refusal.status], headers)


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
