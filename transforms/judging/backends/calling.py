"""Calls of a model's API: retried until the deadline."""

import asyncio
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from math import inf, isfinite
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject, key_twice
from turnwise.transforms.judging import judges
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends import base

_UNKNOWN = ("default", "maxLength", "minLength", "title", "uniqueItems")


class _OpenObject(Exception):
    """An object with free keys."""


def strict_schema(schema: JsonObject) -> JsonObject | None:
    """Returns a schema for strict replies: every object is closed and every property required.

    What they do not know (lengths, defaults) is left out: the answer is checked by the whole schema
    afterwards. None: it has objects with free keys, which strict replies cannot have.
    """
    definitions = schema.get("$defs", {})

    def strict(part: Any) -> Any:
        if isinstance(part, list):
            return [strict(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part and len(part) > 1:  # a reference may have nothing beside it
            beside = {name: value for name, value in part.items() if name != "$ref"}
            return strict({**definitions[part["$ref"].rpartition("/")[2]], **beside})
        closed = {
            name: {key: strict(item) for key, item in value.items()}
            if name in ("properties", "$defs")
            else strict(value)
            for name, value in part.items()
            if name not in _UNKNOWN
        }
        if closed.get("type") == "object":
            if "properties" not in closed or closed.get("additionalProperties"):
                raise _OpenObject
            closed |= {"additionalProperties": False, "required": list(closed["properties"])}
        return closed

    try:
        return dict(strict(schema))
    except _OpenObject:
        return None


PASSING_STATUSES = frozenset({408, 425, 429, 499, *range(500, 600)} - {501, 505})
"""HTTP statuses of transient errors."""
FINAL_STATUSES = frozenset(range(400, 500)) - PASSING_STATUSES - {401, 402, 403, 404, 407, 409}
"""Those of requests that are wrong by themselves: no other credentials, access or credit would help."""

_LONGEST_BACKOFF_S = 10.0
_DOUBLINGS = 64


@dataclass(eq=False)
class CallError(Exception):
    """What an error of an API means. Its text is the reason, in one line.

    Attributes:
        fault: The reason for an unusable answer.
        may_pass: Whether it is transient.
        status: HTTP status; None: there was no answer.
        asked_s: Seconds that the server asks to wait; 0: it does not.
        refusal: Why the credentials are refused, one line without them; None: they are not.
        tokens: What it took; None: unknown, because an answer that comes too late may be billed.
    """

    fault: base.Fault
    may_pass: bool = False
    status: int | None = None
    asked_s: float = 0.0
    refusal: str | None = None
    tokens: int | None = 0

    def __str__(self) -> str:
        return self.fault.reason


def pause_s(attempts: int, delay_s: float, asked_s: float) -> float:
    """Returns the seconds until the next attempt.

    They double from attempt to attempt up to 10 s (`delay_s`, if that is longer); a random part, half of them
    at most, is left out. Where the server demands a longer wait, a random part of `delay_s` is added to that.
    This spreads retries over time.
    """
    backoff = min(max(_LONGEST_BACKOFF_S, delay_s), delay_s * 2.0 ** min(attempts - 1, _DOUBLINGS))
    chance = random.random()
    return max(backoff * (1 - chance / 2), asked_s and asked_s + delay_s * chance)


def asked_wait(headers: Mapping[str, str], body: Any) -> float:
    """Returns the seconds that an error asks to wait; 0: none.

    They stand in `Retry-After`, in `Retry-After-Ms` (Azure's), or in Google's `RetryInfo`.
    """
    exact = _seconds(headers.get("Retry-After-Ms")) / 1000
    if stated := exact or _seconds(headers.get("Retry-After")):
        return stated
    try:
        details: list[dict[str, Any]] = body["error"]["details"]
        return max(_seconds(part["retryDelay"].rstrip("s")) for part in details if "retryDelay" in part)
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0


def _seconds(header: str | None) -> float:
    seconds = 0.0
    with suppress(TypeError, ValueError):  # it is a date
        seconds = (parsedate_to_datetime(header or "") - datetime.now(UTC)).total_seconds()
    with suppress(ValueError):
        seconds = float(header or "")
    return max(0.0, seconds) if isfinite(seconds) else 0.0


T = TypeVar("T")
_CHECK_S = 30.0


class OtherFormError(Exception):
    """The server refuses the form of a request; the backend will send it in another one."""


class ApiBackend(ABC):
    """A backend of one API of models, for one event loop. A subclass makes its requests, without retries.

    Transient errors (408, 425, 429, 499, 5xx except 501 and 505, failed connections) are retried until the
    deadline of the call.
    """

    def __init__(self, config: JudgeConfig, access: judges.Access, on_retry: judges.OnRetry):
        self.config, self.access, self._on_retry = config, access, on_retry

    @abstractmethod
    def open(self) -> None:
        """Makes the client, once."""

    @abstractmethod
    async def call(self, request: base.Request, count: int) -> str | bytes:
        """Returns the body of the response; raises OneCandidateError, as Backend, or OtherFormError."""

    @abstractmethod
    async def find(self, model: str) -> None:
        """Asks for a model, at no cost; raises the client's error if it is not there."""

    @abstractmethod
    def read(self, answer: JsonObject, model: str) -> base.ReadAnswer:
        """Reads a response; what is not as the API has it raises AttributeError, KeyError or the like."""

    @abstractmethod
    def failure(self, error: Exception) -> CallError:
        """Returns what an error of the client means."""

    @abstractmethod
    async def aclose(self) -> None:
        """Closes the connections."""

    def replies(self, body: str | bytes | base.Fault, model: str, count: int) -> list[base.RawReply]:
        """Returns `count` replies out of the body of a response, or out of why there is none.

        The tokens of the call are divided among the replies; their sums are exact.
        """
        broken = base.ReadAnswer([], None, None, base.Fault("json", "the API's response is broken"))
        try:
            if isinstance(body, base.Fault):
                answer = base.ReadAnswer([], (0, 0), None, body)
            else:
                value = orjson.loads(body)
                is_twice = key_twice(body if isinstance(body, bytes) else body.encode(), value) is not None
                answer = broken if is_twice else self.read(value, model)
        except (AttributeError, KeyError, TypeError, ValueError):
            answer = broken
        texts = answer.texts[:count]
        stated = [text if isinstance(text, base.Fault) or text.strip() else base.EMPTY for text in texts]
        replies = []
        for number, text in enumerate(stated + [answer.missing] * (count - len(stated))):
            shares = [total // count + (number < total % count) for total in answer.tokens or ()]
            cost = answer.model or model, *(shares or (None, None))
            answered = (None, text) if isinstance(text, base.Fault) else (text, None)
            replies.append(base.cleaned(base.RawReply(*answered, *cost), self.access.api_key))
        return replies

    async def generate(self, request: base.Request, count: int) -> list[base.RawReply]:
        """Makes one call; see Backend."""
        model, name = request.template.model, request.template.name
        try:
            body = await self.sent(partial(self.call, request, count), name, self.config.max_attempts)
        except CallError as error:
            return [base.RawReply(None, error.fault, model, error.tokens, error.tokens)] * count
        return self.replies(body, model, count)

    async def check(self, model: str) -> None:
        """Checks credentials and model at no cost.

        Raises ConfigError if the API refuses the credentials, has no such model, or cannot be reached.
        """
        try:
            await self.sent(partial(self.find, model), model, 2, min(_CHECK_S, self.config.timeout_s))
        except CallError as error:
            # A server of one's own without a list of models says 404 of the path, and not of the model.
            name, reason = re.escape(model.rpartition("/")[2]), str(error)
            names_model = re.search(rf"(?<!\w){name}(?!\w)", reason) and "/models/" not in reason
            is_unknown = error.status == 404 and (not self.access.base_url or names_model)
            if error.fault.kind in ("connection", "timeout"):
                url = self.access.base_url
                server = f"{url} (judge.base_url)" if url else "the judge's API"
                reason += f"; see that this machine reaches {server}, or take another --judge"
            elif not is_unknown:
                return
            raise ConfigError(f"judge: model {model}: {reason}") from None

    async def sent(
        self,
        send: Callable[[], Coroutine[Any, Any, T]],
        model: str,
        most: int | None,
        limit_s: float | None = None,
    ) -> T:
        """Makes a request with `most` attempts, in `limit_s` seconds (None: those of a call).

        Raises CallError if it fails, OneCandidateError if the model does not support several candidates,
        AuthenticationError if the credentials are refused.
        """
        self.open()  # takes a second, which is none of the call's
        limit = self.config.timeout_s if limit_s is None else limit_s
        deadline, attempts = time.monotonic() + limit, 0
        last: CallError | None = None
        tokens: int | None = None
        try:
            async with asyncio.timeout(limit):
                while True:
                    attempts, tokens = attempts + 1, None
                    try:
                        return await send()
                    except OtherFormError:
                        self._on_retry(model)
                        continue
                    except TimeoutError:  # only the time of the whole call is limited
                        last = None
                        raise
                    except (base.OneCandidateError, ConfigError):
                        raise
                    except ValidationError as error:
                        raise CallError(base.Fault("other", base.wrong_setting(error))) from None
                    except Exception as error:
                        last = failure = self.failure(error)
                        tokens = 0
                    if failure.refusal is not None:
                        raise base.AuthenticationError(f"judge: {failure.refusal}")
                    left = deadline - time.monotonic()
                    if left < 0 or attempts >= (most or inf) or not failure.may_pass:
                        raise failure
                    if failure.status and failure.asked_s > left:
                        why = f"HTTP {failure.status}, to be tried again after {failure.asked_s:g} s only"
                        raise CallError(base.Fault("http", why), may_pass=True)
                    await asyncio.sleep(pause_s(attempts, self.config.retry_delay_s, failure.asked_s))
                    self._on_retry(model)
        except TimeoutError:
            reason = f"no answer within {self.config.timeout_s:g} s"
            if attempts > 1:
                reason += f", {attempts} attempts"
            if last is not None:
                reason = base.one_line(f"{reason}; the last error: {last}")
            raise CallError(base.Fault("timeout", reason), may_pass=True, tokens=tokens) from None


class BatchBackend(ApiBackend):
    """One that also takes batch jobs, with requests of `batch_bytes` bytes in one at most."""

    batch_bytes: int

    @abstractmethod
    async def submit(self, name: str, requests: Mapping[str, tuple[base.Request, int]]) -> str:
        """Makes a job of requests for one model, each with its number of candidates; returns the job's id."""

    @abstractmethod
    async def find_job(self, name: str) -> str | None:
        """Returns the id of the job that was made under a name, if it is among the last hundred."""

    @abstractmethod
    async def job(self, job: str, ids: Sequence[str]) -> base.BatchState:
        """Returns what became of a job, given the ids of its requests in order."""

    @abstractmethod
    async def discard(self, job: str) -> None:
        """Removes a job with its requests and answers from the provider."""


_REFUSED_PART = (400, 422, 501)
NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}
_BLOCKED = {"content_filter", "content_policy_violation", "invalid_prompt"}
_BLOCKED_WORDS = ("content filtering policy", "was flagged", "requires moderation")


class ClientBackend(ApiBackend):
    """What the APIs of OpenAI and Anthropic have in common: clients that are made alike and raise alike.

    Attributes:
        library: The module that has the client.
        client_name: Name of the client in it.
        usual_url: The address of an access that names none.
    """

    library: Any
    client_name: str
    usual_url: str
    client: Any = None

    def open(self) -> None:
        """Makes the client, once, in the event loop that uses it."""
        if self.client is None:
            self.client = getattr(self.library, self.client_name)(
                api_key=self.access.api_key or "none",  # it must be given; servers without keys read none
                base_url=self.access.base_url or self.usual_url,
                max_retries=0,
                timeout=None,
                # A redirect would take the key along, also to another origin.
                http_client=self.library.DefaultAsyncHttpxClient(follow_redirects=False),
            )

    async def aclose(self) -> None:
        """Closes the connections."""
        if self.client is not None:
            await self.client.close()

    def refuses(self, error: Any, *words: str) -> bool:
        """Returns whether a server does not take a part of a request that one of these words names."""
        text = error.response.text.lower()
        return error.status_code in _REFUSED_PART and any(word in text for word in words)

    def failure(self, error: Exception) -> CallError:
        """Returns what an error means."""
        if not isinstance(error, self.library.APIStatusError):
            is_connection = isinstance(error, self.library.APIConnectionError)
            cause = (error.__cause__ or error) if is_connection else error
            text = f"{'no connection: ' if is_connection else ''}{type(cause).__name__}: {cause}"
            reason = base.without_key(text, self.access.api_key)
            return CallError(base.Fault("connection" if is_connection else "other", reason), is_connection)
        status, response, body = error.status_code, error.response, error.body
        # The error object is the body, or stands below `error`, or is a text there (Ollama, FastAPI).
        inner = body.get("error", body.get("detail", body)) if isinstance(body, Mapping) else None
        stated = inner if isinstance(inner, Mapping) else {"message": inner}
        words = " ".join(str(stated[name]) for name in ("code", "type", "message") if stated.get(name))
        kinds = {str(stated.get("code")), str(stated.get("type"))}
        if status in (400, 403) and (kinds & _BLOCKED or any(word in words for word in _BLOCKED_WORDS)):
            reason = base.without_key(f"the question was blocked: {words}", self.access.api_key)
            return CallError(base.Fault("blocked", reason))
        words = words or f"{response.reason_phrase} {response.text}"
        reason = base.without_key(f"HTTP {status} {words}", self.access.api_key)
        return CallError(
            base.Fault("http", reason),
            may_pass=status in PASSING_STATUSES and not kinds & NO_CREDIT,
            status=status,
            asked_s=asked_wait(response.headers, None),
            refusal=f"the credentials are refused: {reason}" if status in (401, 403) else None,
        )


def instructions_with_schema(template: base.RequestTemplate) -> str:
    """Returns the instructions with the schema of the answer, for servers that do not enforce it."""
    schema = orjson.dumps(template.schema).decode()
    wanted = "Answer with one JSON object by this JSON schema, and nothing else:"
    return f"{template.instructions}\n\n{wanted}\n{schema}"


class ClientSettings(BaseModel):
    """Generation settings that these APIs have in common."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=0.0, ge=0, le=1)
    max_output_tokens: int = Field(default=0, ge=1)
    reasoning_effort: str = ""


def register_api(
    name: str,
    help_line: str,
    find: Callable[[JudgeConfig, judges.Environ], judges.Access],
    make: Callable[[JudgeConfig, judges.Access, judges.OnRetry], ApiBackend],
    check_settings: Callable[[str, JsonObject], object],
    **fields: Any,
) -> None:
    """Registers a judge that asks an API."""

    def connect(config: JudgeConfig, environ: judges.Environ, on_retry: judges.OnRetry) -> ApiBackend:
        access = find(config, environ)
        if access.secret is not None:
            access = replace(access, api_key=base.read_secret(access.secret, environ))
        return make(config, access, on_retry)

    async def find_models(backend: ApiBackend, models: Sequence[str]) -> None:
        async with aclosing(backend):
            await asyncio.gather(*(backend.check(model) for model in models))

    def check(config: JudgeConfig, environ: judges.Environ, options: Sequence[JudgeModelOptions]) -> None:
        models = set()
        for stated in options:
            model = stated.judge_model or config.model
            models.add(model)
            try:
                check_settings(model, judges.merged_settings(config, stated.judge_model_config))
            except ValidationError as error:
                raise ConfigError(f"judge: {base.wrong_setting(error)}") from None
            except ValueError as error:
                raise ConfigError(f"judge_model_config: {error}") from None
        asyncio.run(find_models(connect(config, environ, lambda model: None), sorted(models)))

    fields = {"provider": (name,), "needs_model": True, **fields}
    kind = judges.JudgeKind(name=name, help=help_line, connect=connect, access=find, check=check, **fields)
    judges.register_judge(kind)
