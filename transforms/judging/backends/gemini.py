"""Asks Gemini, through google-genai. Loading this module loads google-genai; nothing else does."""

import json
import math
import re
from typing import Any
from urllib.request import getproxies

import aiohttp
from google import genai
from google.auth.exceptions import GoogleAuthError, TransportError
from google.genai import errors, types
from pydantic import ValidationError

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.judging.backends.base import (
    EMPTY,
    Fault,
    OneCandidateError,
    RawReply,
    ReadAnswer,
    Request,
    RequestTemplate,
    TokenFigures,
    cut_off,
    one_line,
    replies_of,
    withheld,
    without_key,
    wrong_setting,
)
from turnwise.transforms.judging.backends.calling import PASSING_STATUSES, ApiFailure, asked_wait
from turnwise.transforms.judging.backends.prepared import PLACE, PreparedRequest, keeping_session, prepared
from turnwise.transforms.judging.judges_base import HOW_TO, Access

_MOST_PREPARED = 1024
_BAD_KEYS = ("API_KEY_INVALID", "API key not valid", "API key expired")

_OBJECT = re.compile(r"\s?ssl:<[^>]*>")
"""A part of aiohttp's messages without information, which differs between runs."""


class GeminiApi:
    """One client of the Gemini API or of Vertex AI, for one event loop; made at the first call."""

    def __init__(self, config: JudgeConfig, access: Access):
        self._config = config
        self._access = access
        self._timeout_of_request = aiohttp.ClientTimeout(total=math.ceil(config.timeout_s * 1000) / 1000)
        self._session: aiohttp.ClientSession | None = None
        self._keeping: aiohttp.ClientSession | None = None
        self._client: genai.Client | None = None
        self._prepared: dict[tuple[RequestTemplate, int], PreparedRequest] = {}

    @property
    def lists_models(self) -> bool:
        """Whether a model that it does not find does not exist."""
        return not self._access.base_url

    def open(self) -> None:
        """Makes the client, once."""
        self._opened()

    async def generate(self, request: Request, count: int) -> str:
        """Returns the body of the response; see Api."""
        try:
            return await self._generate(request, count)
        except errors.APIError as error:
            if error.code == 400 and count > 1 and "candidate" in str(error.message).lower():
                raise OneCandidateError from None
            raise

    async def find(self, model: str) -> None:
        """Counts tokens, which costs nothing."""
        call = self._opened().aio.models.count_tokens(model=model, contents="?")
        await self._post(await prepared(call), "")

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns the replies out of the body of a response."""
        return read_answer(body, model, count)

    def failure(self, error: Exception) -> ApiFailure:
        """Returns what an error means."""
        if isinstance(error, errors.APIError):
            return self._refusal(error)
        if isinstance(error, GoogleAuthError) and not (error.retryable or isinstance(error, TransportError)):
            said = self._clean(str(error))
            return ApiFailure(Fault("other", said), refusal=f"{said}; {HOW_TO}")
        if isinstance(error, aiohttp.ClientError | OSError | GoogleAuthError):
            said = self._clean(f"no connection: {type(error).__name__}: {error}")
            return ApiFailure(Fault("connection", said), may_pass=True)
        if isinstance(error, ValidationError):
            return ApiFailure(Fault("other", wrong_setting(error)))
        # An error that is declared to be JSON and is none comes from a gateway.
        is_gateways = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        return ApiFailure(Fault("other", self._clean(f"{type(error).__name__}: {error}")), is_gateways)

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:  # and kept: its finalizer starts a task wherever a loop is running
            await self._client.aio.aclose()
            self._client.close()
        for session in (self._session, self._keeping):
            if session is not None:
                await session.close()

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
            allow_redirects=False,  # the key would go along, also to another origin
        ) as response:
            await errors.APIError.raise_for_async_response(response)
            return await response.text()

    def _opened(self) -> genai.Client:
        if self._client is None:
            self._session, self._keeping = _session(), keeping_session()
            self._client = _client(self._config, self._access, self._keeping)
        return self._client

    def _refusal(self, error: errors.APIError) -> ApiFailure:
        said = " ".join(str(each) for each in (error.status, error.message) if each)
        reason = self._clean(f"HTTP {error.code} {said}")
        is_refused = error.code in (401, 403) or (error.code == 400 and _is_bad_key(error))
        return ApiFailure(
            Fault("http", reason),
            may_pass=error.code in PASSING_STATUSES,
            status=error.code,
            asked_s=asked_wait(getattr(error.response, "headers", None) or {}, error.details),
            refusal=f"the credentials are refused: {reason}" if is_refused else None,
        )

    def _clean(self, text: str) -> str:
        return without_key(_OBJECT.sub("", text), self._access.api_key)


def check_settings(model: str, settings: JsonObject) -> None:
    """Raises ConfigError if generation settings are none of google-genai's."""
    try:
        types.GenerateContentConfig.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"judge: {wrong_setting(error)}") from None


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


# The JSON schema of an answer, as Gemini needs it.


def in_order(value: JsonValue) -> JsonValue:
    """Returns a JSON schema that states the order of properties; without it, some models sort them."""
    if isinstance(value, list):
        return [in_order(each) for each in value]
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    order: JsonObject = {}
    if value.get("type") == "object" and isinstance(properties, dict):
        order["propertyOrdering"] = list(properties)
    return {**{key: in_order(each) for key, each in value.items()}, **order}


# Reads the answer to a call of generateContent.

_FINISHED = (None, "STOP", "FINISH_REASON_UNSPECIFIED")


def read_answer(body: str | bytes, model: str, count: int) -> list[RawReply]:
    """Returns `count` replies; missing candidates are faults. See `replies_of`."""
    return replies_of(body, model, count, _read)


def _read(answer: JsonObject) -> ReadAnswer:
    texts = [_text(candidate) for candidate in answer.get("candidates") or []]
    blocked = (answer.get("promptFeedback") or {}).get("blockReason")
    missing = Fault("blocked", one_line(f"the question was blocked: {blocked}")) if blocked else EMPTY
    return ReadAnswer(texts, _tokens(answer.get("usageMetadata")), answer.get("modelVersion"), missing)


def _text(candidate: JsonObject) -> str | Fault:
    finish = candidate.get("finishReason")
    if finish == "MAX_TOKENS":
        return cut_off(finish)
    if finish not in _FINISHED:
        return withheld(finish)
    parts: list[dict[str, Any]] = (candidate.get("content") or {}).get("parts") or []
    return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


def _tokens(usage: JsonObject | None) -> TokenFigures:
    if not usage:
        return None
    tokens_in = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    tokens_out = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
    return int(tokens_in), int(tokens_out)
