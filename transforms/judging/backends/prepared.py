"""Requests that a client library makes once and that are sent many times, with another text each."""

import json
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from ssl import SSLContext
from uuid import uuid4

import aiohttp
from aiohttp.typedefs import StrOrURL

PLACE = f"text {uuid4()}"
"""What a library is given as the text of a request."""

_LASTS_S = 60.0
_OF_ONE_REQUEST = ("Host", "Content-Length")
_PLACE_IN_JSON = json.dumps(PLACE).encode()


class _RequestMade(Exception):
    """A request that was made, in place of its response."""

    def __init__(self, request: aiohttp.ClientRequest):
        self.request = request


async def _keep(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    raise _RequestMade(request)


def keeping_session() -> aiohttp.ClientSession:
    """Returns a session for a library whose requests are not sent but kept; see `prepared`."""
    return aiohttp.ClientSession(middlewares=[_keep])


# No struct: its __rich_repr__ would show the headers.
@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request with a place for a text.

    Attributes:
        url: Address.
        headers: Headers, with credentials.
        body: JSON with PLACE in the place of the text.
        ssl: How the server is checked.
        made: When it was made, on the monotonic clock.
    """

    url: StrOrURL
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    ssl: SSLContext | bool | aiohttp.Fingerprint
    made: float

    @property
    def is_fresh(self) -> bool:
        """Whether its credentials hold: libraries renew access tokens minutes before they expire."""
        return time.monotonic() - self.made < _LASTS_S

    def body_with(self, text: str) -> bytes:
        """Returns the body with a text in its place."""
        return self.body.replace(_PLACE_IN_JSON, json.dumps(text).encode())


async def prepared(call: Awaitable[object]) -> PreparedRequest:
    """Returns the request that a call makes in a keeping session.

    Raises:
        RuntimeError: It makes none.
    """
    made = time.monotonic()
    try:
        await call
    except _RequestMade as made_one:
        request = made_one.request
    else:
        raise RuntimeError("the library made no request")
    own = {name: value for name, value in request.headers.items() if name not in _OF_ONE_REQUEST}
    body = request.body.decode().encode() if request.body else b""
    return PreparedRequest(request.url, own, body, request.ssl, made)
