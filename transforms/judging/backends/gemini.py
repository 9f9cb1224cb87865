"""Asks Gemini, through google-genai. Loading this module loads google-genai; nothing else does."""

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar
from urllib.request import getproxies

import aiohttp
from google import genai
from google.auth.exceptions import GoogleAuthError, TransportError
from google.genai import errors, types
from pydantic import ValidationError

from turnwise.schemas.config import ConfigError
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.schemas.values import JsonObject
from turnwise.transforms.judging.backends.attempts import (
    PASSING_STATUSES,
    Attempts,
    WaitTooLongError,
    asked_wait,
)
from turnwise.transforms.judging.backends.base import (
    AuthenticationError,
    Fault,
    OneCandidateError,
    RawReply,
    Request,
    RequestTemplate,
    one_line,
)
from turnwise.transforms.judging.backends.gemini_reply import read_answer
from turnwise.transforms.judging.backends.gemini_schema import in_order
from turnwise.transforms.judging.backends.prepared import PLACE, PreparedRequest, keeping_session, prepared
from turnwise.transforms.judging.judges.base import HOW_TO, Access

T = TypeVar("T")
_MOST_PREPARED = 1024
_CHECK_S = 30.0
_BAD_KEYS = ("API_KEY_INVALID", "API key not valid", "API key expired")

_OBJECT = re.compile(r"\s?ssl:<[^>]*>")
"""A part of aiohttp's messages without information, which differs between runs."""


class Gemini:
    """One client of the Gemini API or of Vertex AI, for one event loop; made at the first call.

    Transient errors (408, 425, 429, 499, 5xx except 501 and 505, failed connections) are retried until the
    deadline of the call. A request without an answer after half of the remaining time is sent a second time
    in parallel, and the first answer counts.
    """

    def __init__(self, config: JudgeConfig, access: Access, on_retry: Callable[[str], None]):
        self._config = config
        self._access = access
        self._timeout_of_request = aiohttp.ClientTimeout(total=math.ceil(config.timeout_s * 1000) / 1000)
        self._on_retry = on_retry
        self._session: aiohttp.ClientSession | None = None
        self._keeping: aiohttp.ClientSession | None = None
        self._client: genai.Client | None = None
        self._prepared: dict[tuple[RequestTemplate, int], PreparedRequest] = {}

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Makes one call; see Backend."""
        config, model = self._config, request.template.model
        attempts = Attempts(config.max_attempts, config.retry_delay_s)
        try:
            self._opened()  # takes a second, which is none of the call's
            attempts.deadline = time.monotonic() + config.timeout_s
            sent = self._sent(lambda: self._generate(request, count), attempts, model)
            body = await asyncio.wait_for(sent, config.timeout_s)
        except Exception as error:
            return [RawReply(None, self._fault(error, count, attempts), model)] * count
        return read_answer(body, model, count)

    async def check(self, model: str) -> None:
        """Checks credentials and model at no cost.

        Raises:
            ConfigError: It refuses the credentials, has no such model, or cannot be reached.
        """
        limit = min(_CHECK_S, self._config.timeout_s)
        attempts = Attempts(2, self._config.retry_delay_s)
        try:
            self._opened()
            attempts.deadline = time.monotonic() + limit
            await asyncio.wait_for(self._sent(lambda: self._count_tokens(model), attempts, model), limit)
        except Exception as error:
            fault = self._fault(error, 1, attempts)
            unknown_model = isinstance(error, errors.APIError) and error.code == 404
            if fault.kind in ("connection", "timeout") or (unknown_model and not self._access.base_url):
                raise ConfigError(f"judge: model {model}: {fault.reason}") from None

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:  # and kept: its finalizer starts a task wherever a loop is running
            await self._client.aio.aclose()
            self._client.close()
        for session in (self._session, self._keeping):
            if session is not None:
                await session.close()

    async def _sent(
        self, send: Callable[[], Coroutine[Any, Any, T]], attempts: Attempts, model: str, hedges: bool = True
    ) -> T:
        """Sends until it works; raises the error of an attempt that was the last, or will not pass."""
        while True:
            attempts.count += 1
            try:
                return await (self._hedged(send, attempts, model) if hedges else send())
            except Exception as error:
                attempts.last = error
                if attempts.is_last or not _may_pass(error):
                    raise
            asked = _asked_wait(attempts.last)
            if asked and attempts.is_beyond(asked) and isinstance(attempts.last, errors.APIError):
                raise WaitTooLongError(attempts.last.code, asked)
            await asyncio.sleep(attempts.pause(asked))
            self._on_retry(model)

    async def _hedged(self, send: Callable[[], Coroutine[Any, Any, T]], attempts: Attempts, model: str) -> T:
        """Sends a request, and a second one in parallel if no answer arrives in time.

        The first request continues, because it may only be slow.
        """
        tasks = [asyncio.create_task(send())]
        try:
            await asyncio.wait(tasks, timeout=attempts.patience_s)
            if not tasks[0].done() and not attempts.is_last:
                self._on_retry(model)
                tasks.append(asyncio.create_task(self._sent(send, attempts, model, hedges=False)))
            return await _first_result(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _count_tokens(self, model: str) -> None:
        call = self._opened().aio.models.count_tokens(model=model, contents="?")
        await self._post(await prepared(call), "")

    async def _generate(self, request: Request, count: int) -> str:
        template = request.template
        found = self._prepared.get((template, count))
        if found is None or not found.is_fresh:
            if len(self._prepared) >= _MOST_PREPARED:
                self._prepared.clear()
            settings = _settings(template, count)
            models = self._opened().aio.models
            found = await prepared(
                models.generate_content(model=template.model, contents=PLACE, config=settings)
            )
            self._prepared[template, count] = found
        return await self._post(found, request.evidence)

    async def _post(self, request: PreparedRequest, text: str) -> str:
        assert self._session
        async with self._session.post(
            request.url,
            data=request.body_with(text),
            headers=request.headers,
            ssl=request.ssl,
            timeout=self._timeout_of_request,
        ) as response:
            await errors.APIError.raise_for_async_response(response)
            return await response.text()

    def _opened(self) -> genai.Client:
        if self._client is None:
            self._session, self._keeping = _session(), keeping_session()
            self._client = _client(self._config, self._access, self._keeping)
        return self._client

    def _fault(self, error: Exception, count: int, attempts: Attempts) -> Fault:
        if isinstance(error, asyncio.TimeoutError):
            return self._timeout(count, attempts)
        if isinstance(error, WaitTooLongError):
            return Fault("http", str(error))
        if isinstance(error, errors.APIError):
            return self._refusal(error, count)
        if isinstance(error, GoogleAuthError) and not (error.retryable or isinstance(error, TransportError)):
            raise AuthenticationError(f"judge: {self._clean(str(error))}; {HOW_TO}") from None
        if isinstance(error, aiohttp.ClientError | OSError | GoogleAuthError):
            return Fault("connection", self._clean(f"no connection: {type(error).__name__}: {error}"))
        if isinstance(error, ValidationError):
            return Fault("other", _wrong_setting(error))
        return Fault("other", self._clean(f"{type(error).__name__}: {error}"))

    def _timeout(self, count: int, attempts: Attempts) -> Fault:
        reason = f"no answer within {self._config.timeout_s:g} s"
        if attempts.count > 1:
            reason += f", {attempts.count} attempts"
        if attempts.last is None or isinstance(attempts.last, asyncio.TimeoutError):
            return Fault("timeout", reason)
        last = self._fault(attempts.last, count, attempts).reason
        return Fault("timeout", one_line(f"{reason}; the last error: {last}"))

    def _refusal(self, error: errors.APIError, count: int) -> Fault:
        said = " ".join(str(each) for each in (error.status, error.message) if each)
        reason = self._clean(f"HTTP {error.code} {said}")
        if error.code in (401, 403) or (error.code == 400 and _is_bad_key(error)):
            raise AuthenticationError(f"judge: the credentials are refused: {reason}") from None
        if error.code == 400 and count > 1 and "candidate" in reason.lower():
            raise OneCandidateError from None
        return Fault("http", reason)

    def _clean(self, text: str) -> str:
        key = self._access.api_key
        text = _OBJECT.sub("", text)
        return one_line(text.replace(key, "[key]") if key else text)


async def _first_result(tasks: Sequence[asyncio.Task[T]]) -> T:
    """Returns the first result of some tasks; where all fail, the error of the last one is raised."""
    pending = set(tasks)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if task.exception() is None:
                return task.result()
    return tasks[-1].result()


def _may_pass(error: Exception) -> bool:
    """Returns whether an error is transient."""
    if isinstance(error, errors.APIError):
        return error.code in PASSING_STATUSES
    if isinstance(error, GoogleAuthError):
        return error.retryable or isinstance(error, TransportError)
    if isinstance(error, asyncio.TimeoutError):
        return False  # only the time of the whole call is limited
    # An error that is declared to be JSON and is none comes from a gateway.
    return isinstance(error, aiohttp.ClientError | OSError | json.JSONDecodeError | UnicodeDecodeError)


def _asked_wait(error: Exception) -> float:
    if not isinstance(error, errors.APIError):
        return 0.0
    return asked_wait(getattr(error.response, "headers", None) or {}, error.details)


def check_settings(settings: JsonObject) -> None:
    """Raises ConfigError if generation settings are none of google-genai's."""
    try:
        types.GenerateContentConfig.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"judge: {_wrong_setting(error)}") from None


def _wrong_setting(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return one_line(f"generation settings: {path}: {first['msg']}")


def _is_bad_key(error: errors.APIError) -> bool:
    return any(word in str(error.details) for word in _BAD_KEYS)


def _session() -> aiohttp.ClientSession:
    # With trust_env every request looks for proxies on two other threads, a third of its whole cost.
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=bool(getproxies()))


def _client(config: JudgeConfig, access: Access, session: aiohttp.ClientSession) -> genai.Client:
    options = types.HttpOptions(
        base_url=access.base_url,
        timeout=math.ceil(config.timeout_s * 1000),
        retry_options=types.HttpRetryOptions(attempts=1),
        aiohttp_client=session,
    )
    return genai.Client(
        vertexai=access.vertexai,
        api_key=access.api_key,
        project=access.project,
        location=access.location,
        http_options=options,
    )


def _settings(template: RequestTemplate, count: int) -> types.GenerateContentConfig:
    values = {
        **template.settings,
        "system_instruction": template.instructions,
        "response_mime_type": "application/json",
        "response_json_schema": in_order(template.schema),
        "candidate_count": count if count > 1 else None,
        "automatic_function_calling": {"disable": True},
    }
    return types.GenerateContentConfig.model_validate(values)
