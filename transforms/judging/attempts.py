"""Watches every attempt of a call: counts it, and waits as long as the server asks to.

google-genai sends a request again by its own options, after a wait of its own; it looks at no `Retry-After`.
As a middleware of the aiohttp session that it is given, this sees every request it sends.
"""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
from aiohttp import (
    ClientHandlerType,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ServerDisconnectedError,
)

_BUSY = (429, 503)


class WaitTooLongError(Exception):
    """The server asks for a wait beyond the end of the call."""

    def __init__(self, status: int, seconds: float):
        super().__init__(f"HTTP {status}, to be tried again after {seconds:g} s only")
        self.status = status


@dataclass(slots=True)
class Attempts:
    """The attempts of one call.

    Attributes:
        model: The model that is asked.
        deadline: When the call ends at the latest, on the monotonic clock.
        count: Attempts so far.
        not_before: When the server wants to be asked again.
    """

    model: str
    deadline: float
    count: int = 0
    not_before: float = 0.0


PRESENT_CALL: ContextVar[Attempts] = ContextVar("present_call")


class AttemptWatch:
    """A middleware for the session of a client."""

    def __init__(self, on_retry: Callable[[str], None]):
        """Takes what is called with the model's name whenever a request is sent again."""
        self._on_retry = on_retry

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Sends a request in its time, and reads the whole response.

        Raises:
            WaitTooLongError: The server does not want to be asked again before the call must have ended.
        """
        call = PRESENT_CALL.get(None)
        if call is None:
            return await handler(request)
        if call.count:
            await asyncio.sleep(max(0.0, call.not_before - time.monotonic()))
            self._on_retry(call.model)
        call.count += 1
        response = await handler(request)
        try:
            body = await response.read()
        except ClientPayloadError as error:
            raise ServerDisconnectedError(str(error)) from None  # one that the client retries
        if response.status in _BUSY:
            _note_wait(call, response, body)
        return response


def _note_wait(call: Attempts, response: ClientResponse, body: bytes) -> None:
    seconds = _seconds(response.headers.get("Retry-After")) or _retry_info(body)
    call.not_before = time.monotonic() + seconds
    if seconds and call.not_before > call.deadline:
        raise WaitTooLongError(response.status, seconds)


def _seconds(header: str | None) -> float:
    if header is None:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _retry_info(body: bytes) -> float:
    try:
        details: list[dict[str, Any]] = orjson.loads(body)["error"]["details"]
        return max(float(each["retryDelay"].rstrip("s")) for each in details if "retryDelay" in each)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return 0.0
