"""Calls of a model's API: retried until the deadline."""

import asyncio
import random
import re
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

import orjson
from msgspec import Struct

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import (
    AuthenticationError,
    Fault,
    OneCandidateError,
    RawReply,
    Request,
    RequestTemplate,
    cleaned,
    one_line,
    without_key,
)

# JSON schemas as OpenAI's strict replies need them.

_UNKNOWN = ("default", "maxLength", "minLength", "title", "uniqueItems")


def strict_schema(schema: JsonObject) -> JsonObject | None:
    """Returns a schema in which every object is closed and every property required.

    What strict replies do not know (lengths, defaults) is left out: the answer is checked by the whole schema
    afterwards.

    Args:
        schema: A JSON schema as pydantic makes it.

    Returns:
        The schema; None: it has objects with free keys, which strict replies cannot have.
    """
    try:
        strict: JsonObject = _strict(schema, schema.get("$defs", {}))
    except _OpenObject:
        return None
    return strict


class _OpenObject(Exception):
    """An object with free keys."""


def _strict(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_strict(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and len(schema) > 1:  # a reference may have nothing beside it
        own = {name: value for name, value in schema.items() if name != "$ref"}
        return _strict({**definitions[schema["$ref"].rpartition("/")[2]], **own}, definitions)
    found = {
        name: _by_name(value, definitions) if name in ("properties", "$defs") else _strict(value, definitions)
        for name, value in schema.items()
        if name not in _UNKNOWN
    }
    if found.get("type") == "object":
        if "properties" not in found or found.get("additionalProperties"):
            raise _OpenObject
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found


def _by_name(schemas: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _strict(each, definitions) for name, each in schemas.items()}


# Retry policy: retries until the deadline, with backoff and the delays that the server requests.

PASSING_STATUSES = frozenset({408, 425, 429, 499, *range(500, 600)} - {501, 505})
"""HTTP statuses of transient errors."""

_LONGEST_BACKOFF_S = 10.0
_DOUBLINGS = 64


class _WaitTooLongError(Exception):
    """The server demands a wait beyond the end of the call."""

    def __init__(self, status: int, seconds: float):
        super().__init__(f"HTTP {status}, to be tried again after {seconds:g} s only")


class Attempts(Struct):
    """The attempts of one call.

    Attributes:
        most: Maximum number of attempts; None: until the deadline.
        delay_s: Approximate seconds between the first and second attempt.
        deadline: End of the call on the monotonic clock.
        count: Number of attempts so far.
        last: Error of the last failed attempt.
    """

    most: int | None
    delay_s: float
    deadline: float = 0.0
    count: int = 0
    last: Exception | None = None

    @property
    def is_last(self) -> bool:
        """Whether the current attempt is the last one."""
        return self.is_beyond(0.0) or (self.most is not None and self.count >= self.most)

    def is_beyond(self, seconds: float) -> bool:
        """Returns whether a delay would exceed the deadline."""
        return time.monotonic() + seconds > self.deadline

    def pause(self, asked_s: float) -> float:
        """Returns the seconds until the next attempt.

        They double from attempt to attempt up to 10 s (`delay_s`, if that is longer); a random part, half of
        them at most, is left out. Where the server demands a longer wait, a random part of `delay_s` is
        added to that. This spreads retries over time.

        Args:
            asked_s: The wait that the server demands; 0: none.
        """
        longest = max(_LONGEST_BACKOFF_S, self.delay_s)
        backoff = min(longest, self.delay_s * 2.0 ** min(self.count - 1, _DOUBLINGS))
        chance = random.random()
        return max(backoff * (1 - chance / 2), asked_s and asked_s + self.delay_s * chance)


def asked_wait(headers: Mapping[str, str], body: Any) -> float:
    """Returns the seconds that an error asks to wait; 0: none.

    They stand in `Retry-After`, in `Retry-After-Ms` (Azure's), or in Google's `RetryInfo`.
    """
    exact = _seconds(headers.get("Retry-After-Ms")) / 1000
    return exact or _seconds(headers.get("Retry-After")) or _retry_info(body)


def _seconds(header: str | None) -> float:
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        return _until(header)
    return max(0.0, seconds) if isfinite(seconds) else 0.0


def _until(date: str) -> float:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _retry_info(body: Any) -> float:
    try:
        details: list[dict[str, Any]] = body["error"]["details"]
        return max(_seconds(each["retryDelay"].rstrip("s")) for each in details if "retryDelay" in each)
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0


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
                raise _WaitTooLongError(failure.status, failure.asked_s)
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
        if isinstance(error, _WaitTooLongError):
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


# What the clients of OpenAI and Anthropic have in common: errors, and requests without a schema.

_REFUSED_PART = (400, 422, 501)
_NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}
_BLOCKED = {"content_filter", "content_policy_violation", "invalid_prompt"}
_BLOCKED_WORDS = ("content filtering policy", "was flagged", "requires moderation")


class ClientErrors(NamedTuple):
    """The errors of a client.

    Attributes:
        status: Class of those with an HTTP status.
        connection: Class of those without an answer.
        key: The API key, which no message may hold.
    """

    status: type[Any]
    connection: type[Exception]
    key: str | None

    def failure(self, error: Exception) -> ApiFailure:
        """Returns what an error means."""
        if isinstance(error, self.status):
            return self._refusal(error)
        if isinstance(error, self.connection):
            cause = error.__cause__ or error
            return ApiFailure(
                Fault("connection", self._clean(f"no connection: {_text(cause)}")), may_pass=True
            )
        return ApiFailure(Fault("other", self._clean(_text(error))))

    def refuses(self, error: Any, *words: str) -> bool:
        """Returns whether a server does not take a part of a request that one of these words names."""
        if not isinstance(error, self.status) or error.status_code not in _REFUSED_PART:
            return False
        return any(word in error.response.text.lower() for word in words)

    def _refusal(self, error: Any) -> ApiFailure:
        status, response = error.status_code, error.response
        said = _details(error.body)
        words = " ".join(str(said[name]) for name in ("code", "type", "message") if said.get(name))
        reason = self._clean(f"HTTP {status} {words or f'{response.reason_phrase} {response.text}'}")
        kinds = {str(said.get("code")), str(said.get("type"))}
        if status in (400, 403) and (kinds & _BLOCKED or any(word in words for word in _BLOCKED_WORDS)):
            return ApiFailure(Fault("blocked", self._clean(f"the question was blocked: {words}")))
        return ApiFailure(
            Fault("http", reason),
            may_pass=status in PASSING_STATUSES and not kinds & _NO_CREDIT,
            status=status,
            asked_s=asked_wait(response.headers, None),
            refusal=f"the credentials are refused: {reason}" if status in (401, 403) else None,
        )

    def _clean(self, text: str) -> str:
        return without_key(text, self.key)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _details(body: object) -> Mapping[str, Any]:
    """Returns the error object of a body: at its top, below `error`, or a text there (Ollama, FastAPI)."""
    inner = body.get("error", body.get("detail", body)) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {"message": inner}


def instructions_with_schema(template: RequestTemplate) -> str:
    """Returns the instructions with the schema of the answer, for servers that do not enforce it."""
    schema = orjson.dumps(template.schema).decode()
    wanted = "Answer with one JSON object by this JSON schema, and nothing else:"
    return f"{template.instructions}\n\n{wanted}\n{schema}"
