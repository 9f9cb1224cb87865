"""Calls of a model's API: retried until the deadline."""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.backends.attempts import Attempts, WaitTooLongError
from turnwise.transforms.judging.backends.base import (
    AuthenticationError,
    Fault,
    OneCandidateError,
    RawReply,
    Request,
    cleaned,
    one_line,
)

T = TypeVar("T")
_CHECK_S = 30.0


class OtherFormError(Exception):
    """The server refuses the form of a request; the API's object will send it in another one."""


class ApiFailure(Struct, frozen=True):
    """What an error of an API means.

    Attributes:
        fault: The reason for an unusable answer.
        may_pass: Whether it is transient.
        status: HTTP status; None: there was no answer.
        asked_s: Seconds that the server asks to wait; 0: it does not.
        refusal: Why the credentials are refused, one line without them; None: they are not.
    """

    fault: Fault
    may_pass: bool = False
    status: int | None = None
    asked_s: float = 0.0
    refusal: str | None = None


class Api(Protocol):
    """An API of models, for one event loop. Its methods make one request each, without retries."""

    @property
    def lists_models(self) -> bool:
        """Whether a model that it does not find does not exist."""

    def open(self) -> None:
        """Makes the client, once."""

    async def generate(self, request: Request, count: int) -> str | bytes:
        """Returns the body of the response.

        Raises:
            OneCandidateError: The model does not support several candidates.
            OtherFormError: It is to be sent again, in another form.
        """

    async def find(self, model: str) -> None:
        """Asks for a model, at no cost; raises the client's error if it is not there."""

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns `count` replies out of the body of a response."""

    def failure(self, error: Exception) -> ApiFailure:
        """Returns what an error of the client means."""

    async def aclose(self) -> None:
        """Closes the connections."""


class ApiBackend:
    """A backend of one API.

    Transient errors (408, 425, 429, 499, 5xx except 501 and 505, failed connections) are retried until the
    deadline of the call.
    """

    def __init__(
        self, config: JudgeConfig, api: Api, on_retry: Callable[[str], None], key: str | None = None
    ):
        """Takes an API, what is called with the model's name before a repeated request, and the API key."""
        self._config, self._api, self._on_retry, self._key = config, api, on_retry, key

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Makes one call; see Backend."""
        model, name = request.template.model, request.template.name
        attempts = Attempts(self._config.max_attempts, self._config.retry_delay_s)
        try:
            send = partial(self._api.generate, request, count)
            body = await self._within(self._config.timeout_s, send, attempts, name)
        except OneCandidateError:
            raise
        except Exception as error:
            return [RawReply(None, self._fault(error, attempts), model)] * count
        return [cleaned(reply, self._key) for reply in self._api.read(body, model, count)]

    async def check(self, model: str) -> None:
        """Checks credentials and model at no cost.

        Raises:
            ConfigError: It refuses the credentials, has no such model, or cannot be reached.
        """
        limit = min(_CHECK_S, self._config.timeout_s)
        attempts = Attempts(2, self._config.retry_delay_s)
        try:
            await self._within(limit, partial(self._api.find, model), attempts, model)
        except ConfigError:
            raise
        except Exception as error:
            fault = self._fault(error, attempts)
            is_unknown = self._api.failure(error).status == 404 and (
                self._api.lists_models or _names(fault.reason, model)
            )
            if fault.kind in ("connection", "timeout") or is_unknown:
                raise ConfigError(f"judge: model {model}: {fault.reason}") from None

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._api.aclose()

    async def _within(
        self, limit: float, send: Callable[[], Coroutine[Any, Any, T]], attempts: Attempts, model: str
    ) -> T:
        self._api.open()  # takes a second, which is none of the call's
        attempts.deadline = time.monotonic() + limit
        return await asyncio.wait_for(self._sent(send, attempts, model), limit)

    async def _sent(self, send: Callable[[], Coroutine[Any, Any, T]], attempts: Attempts, model: str) -> T:
        """Sends until it works; raises the error of an attempt that was the last, or will not pass."""
        while True:
            attempts.count += 1
            try:
                return await send()
            except OtherFormError:
                self._on_retry(model)
                continue
            except Exception as error:
                attempts.last = error
                failure = self._transient(error)
                if attempts.is_last or failure is None:
                    raise
            if failure.asked_s and attempts.is_beyond(failure.asked_s) and failure.status:
                raise WaitTooLongError(failure.status, failure.asked_s)
            await asyncio.sleep(attempts.pause(failure.asked_s))
            self._on_retry(model)

    def _transient(self, error: Exception) -> ApiFailure | None:
        if isinstance(error, asyncio.TimeoutError | OneCandidateError):
            return None  # only the time of the whole call is limited
        failure = self._api.failure(error)
        return failure if failure.may_pass else None

    def _fault(self, error: Exception, attempts: Attempts) -> Fault:
        if isinstance(error, asyncio.TimeoutError):
            return self._timeout(attempts)
        if isinstance(error, WaitTooLongError):
            return Fault("http", str(error))
        failure = self._api.failure(error)
        if failure.refusal is not None:
            raise AuthenticationError(f"judge: {failure.refusal}") from None
        return failure.fault

    def _timeout(self, attempts: Attempts) -> Fault:
        reason = f"no answer within {self._config.timeout_s:g} s"
        if attempts.count > 1:
            reason += f", {attempts.count} attempts"
        if attempts.last is None or isinstance(attempts.last, asyncio.TimeoutError):
            return Fault("timeout", reason)
        last = self._fault(attempts.last, attempts).reason
        return Fault("timeout", one_line(f"{reason}; the last error: {last}"))


def _names(reason: str, model: str) -> bool:
    """Returns whether an error is about a model: a server without a list of models says so of the path."""
    name = re.escape(model.rpartition("/")[2])
    return re.search(rf"(?<!\w){name}(?!\w)", reason) is not None and "/models/" not in reason
