"""The judge `gemini`: the Gemini API and Vertex AI. google-genai is loaded when it is connected."""

import json
import math
import re
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies
from uuid import uuid4

import orjson

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.judging.backends import base, calling
from turnwise.transforms.judging.judges import HOW_TO, Access, Environ, OnRetry, key_in

if TYPE_CHECKING:
    import aiohttp

_NAME = "gemini"
PLACE = f"text {uuid4()}"
"""What google-genai is given as the text of a request."""
_PLACE_IN_JSON = json.dumps(PLACE).encode()
_LASTS_S = 60.0
_OF_ONE_REQUEST = ("Host", "Content-Length")
_MOST_PREPARED = 1024
_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_BAD_KEYS = ("API_KEY_INVALID", "API key not valid", "API key expired")
_FINAL_CODES = calling.FINAL_STATUSES | {3, 11}
"""Codes of lines that are wrong by themselves: as HTTP's, and as gRPC's INVALID_ARGUMENT and OUT_OF_RANGE."""
_OBJECT = re.compile(r"\s?ssl:<[^>]*>")
"""A part of aiohttp's messages without information, which differs between runs."""
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
_TOKENS = ("promptTokenCount", "toolUsePromptTokenCount"), ("candidatesTokenCount", "thoughtsTokenCount")
_FINISHED = (None, "STOP", "FINISH_REASON_UNSPECIFIED")


# No struct: its __rich_repr__ would show the headers.
@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request that google-genai makes once, and that is sent many times with a text in place of PLACE."""

    url: Any
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    ssl: Any
    made: float

    def with_text(self, text: str) -> bytes:
        """Returns the body with a text in the place of PLACE."""
        return self.body.replace(_PLACE_IN_JSON, json.dumps(text).encode())

    @property
    def is_fresh(self) -> bool:
        """Whether its credentials hold: google-genai renews access tokens minutes before they expire."""
        return time.monotonic() - self.made < _LASTS_S


class _RequestMade(Exception):
    """A request that was made, in place of its response."""

    def __init__(self, request: "aiohttp.ClientRequest"):
        self.request = request


async def _keep(request: "aiohttp.ClientRequest", send: object) -> "aiohttp.ClientResponse":
    raise _RequestMade(request)


async def _prepared(call: Awaitable[object]) -> PreparedRequest:
    """Returns the request that a call makes in a session with `_keep`."""
    made = time.monotonic()
    try:
        await call
    except _RequestMade as kept:
        request = kept.request
    else:
        raise RuntimeError("the library made no request")
    headers = {name: value for name, value in request.headers.items() if name not in _OF_ONE_REQUEST}
    body = request.body.decode().encode() if request.body else b""
    return PreparedRequest(request.url, headers, body, request.ssl, made)


class GeminiBackend(calling.BatchBackend):
    """One client of the Gemini API or of Vertex AI, for one event loop; made at the first call."""

    batch_bytes = 15_000_000  # of 20 MB, and JSON escapes some characters

    def __init__(self, config: JudgeConfig, access: Access, on_retry: OnRetry):
        import aiohttp
        from google import genai
        from google.auth import exceptions

        super().__init__(config, access, on_retry)
        self._http: Any = aiohttp
        self._genai: Any = genai
        self._auth: Any = exceptions
        self._timeout_ms = math.ceil(config.timeout_s * 1000)
        self._sessions: list[aiohttp.ClientSession] = []
        self._client: Any = None
        self._prepared: dict[tuple[base.RequestTemplate, int], PreparedRequest] = {}

    def open(self) -> None:
        """Makes the client, once; its requests are not sent but kept, and sent in another session."""
        if self._client is not None:
            return
        # With trust_env every request looks for proxies on two other threads, a third of its whole cost.
        connector, trust_env = self._http.TCPConnector(limit=0), bool(getproxies())
        sending = self._http.ClientSession(connector=connector, trust_env=trust_env)
        keeping = self._http.ClientSession(middlewares=[_keep])
        self._sessions = [sending, keeping]
        types, access = self._genai.types, self.access
        options = types.HttpOptions(
            base_url=access.base_url,
            # google-genai 3 took to v1, which does not know aliases such as gemini-flash-latest.
            api_version=None if access.vertexai else "v1beta",
            timeout=self._timeout_ms,
            retry_options=types.HttpRetryOptions(attempts=1),
            aiohttp_client=keeping,
        )
        self._client = self._genai.Client(
            vertexai=access.vertexai,
            api_key=access.api_key,
            project=access.project,
            location=access.location,
            http_options=options,
        )

    async def call(self, request: base.Request, count: int) -> str:
        try:
            made = await self._made(request.template, count)
            return await self._sent("POST", made, made.with_text(request.evidence))
        except self._genai.errors.APIError as error:
            if error.code == 400 and count > 1 and "candidate" in str(error.message).lower():
                raise base.OneCandidateError from None
            raise

    async def submit(self, name: str, requests: Mapping[str, tuple[base.Request, int]]) -> str:
        """Makes a job of the same requests as are sent one by one."""
        inlined, made = [], None
        for key, (request, count) in requests.items():
            made = await self._made(request.template, count)
            body = orjson.loads(made.with_text(request.evidence))
            inlined.append({"request": body, "metadata": {"key": key}})
        assert made is not None
        url = made.url.with_name(made.url.name.replace(":generateContent", ":batchGenerateContent"))
        batch = {"displayName": name, "inputConfig": {"requests": {"requests": inlined}}}
        sent = await self._sent("POST", replace(made, url=url), orjson.dumps({"batch": batch}))
        return str(orjson.loads(sent)["name"])

    async def find_job(self, name: str) -> str | None:
        listing = await _prepared(self._client.aio.batches.list(config={"page_size": 100}))
        jobs: list[JsonObject] = orjson.loads(await self._sent("GET", listing)).get("operations") or []
        return next((job["name"] for job in jobs if job["metadata"].get("displayName") == name), None)

    async def job(self, job: str, ids: Sequence[str]) -> base.BatchState:
        """Responses are in the order of the requests, and do not always bring along the key of theirs."""
        state = await _prepared(self._client.aio.batches.get(name=job))
        stated = orjson.loads(await self._sent("GET", state))
        known, error = stated.get("metadata") or {}, stated.get("error") or {}
        status = str(known.get("state") or "").removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        if status not in _ENDED and not stated.get("done"):
            return base.BatchState(status.lower(), is_ended=False)
        output = known.get("output") or stated.get("response") or {}
        responses: list[JsonValue] = (output.get("inlinedResponses") or {}).get("inlinedResponses") or []
        inlined = [item if isinstance(item, dict) else {} for item in responses]
        keys = [str((item.get("metadata") or {}).get("key") or "") for item in inlined]
        # A key that stands elsewhere says that the order is another one.
        is_ordered = all(key in ("", asked) for key, asked in zip(keys, ids, strict=False))
        if is_ordered and len(ids) == len(keys):
            keys = list(ids)
        answers: dict[str, str | bytes | base.Fault] = {}
        for key, item in zip(keys, inlined, strict=False):
            if item.get("response"):
                answers[key] = orjson.dumps(item["response"])
                continue
            failed = item.get("error") or {}
            words = " ".join(str(failed[name]) for name in ("code", "message") if failed.get(name))
            is_final = failed.get("code") in _FINAL_CODES and not any(w in str(failed) for w in _BAD_KEYS)
            answers[key] = base.Fault("http", base.one_line(words or "the request failed"), is_final)
        return base.BatchState(status.lower() or "ended", True, answers, str(error.get("message") or ""))

    async def discard(self, job: str) -> None:
        await self._sent("DELETE", await _prepared(self._client.aio.batches.delete(name=job)))

    async def find(self, model: str) -> None:
        """Counts tokens, which costs nothing."""
        counting = self._client.aio.models.count_tokens(model=model, contents="?")
        await self._sent("POST", await _prepared(counting))

    def read(self, answer: JsonObject, model: str) -> base.ReadAnswer:
        texts = list[str | base.Fault]()
        for candidate in answer.get("candidates") or []:
            finish = candidate.get("finishReason")
            if finish == "MAX_TOKENS":
                texts.append(base.cut_off(finish))
            elif finish not in _FINISHED:
                texts.append(base.withheld(finish))
            else:
                parts: list[dict[str, Any]] = (candidate.get("content") or {}).get("parts") or []
                texts.append("".join(part.get("text") or "" for part in parts if not part.get("thought")))
        why = base.EMPTY
        if blocked := (answer.get("promptFeedback") or {}).get("blockReason"):
            why = base.Fault("blocked", base.one_line(f"the question was blocked: {blocked}"), True)
        # Where no candidate has a text, their count is left out.
        none = {} if any(text and isinstance(text, str) for text in texts) else {"candidatesTokenCount": 0}
        tokens = base.stated_tokens({**none, **(answer.get("usageMetadata") or {})}, *_TOKENS)
        return base.ReadAnswer(texts, tokens, answer.get("modelVersion"), why)

    def failure(self, error: Exception) -> calling.CallError:
        if isinstance(error, self._genai.errors.APIError):
            words = " ".join(str(part) for part in (error.status, error.message) if part)
            reason = self._clean(f"HTTP {error.code} {words}")
            is_bad_key = error.code == 400 and any(word in str(error.details) for word in _BAD_KEYS)
            is_refused = error.code in (401, 403) or is_bad_key
            return calling.CallError(
                base.Fault("http", reason),
                may_pass=error.code in calling.PASSING_STATUSES,
                status=error.code,
                asked_s=calling.asked_wait(getattr(error.response, "headers", None) or {}, error.details),
                refusal=f"the credentials are refused: {reason}" if is_refused else None,
            )
        is_auth = isinstance(error, self._auth.GoogleAuthError)
        if is_auth and not (error.retryable or isinstance(error, self._auth.TransportError)):  # type: ignore[attr-defined]
            reason = self._clean(str(error))
            return calling.CallError(base.Fault("other", reason), refusal=f"{reason}; {HOW_TO}")
        if is_auth or isinstance(error, self._http.ClientError | OSError):
            reason = self._clean(f"no connection: {type(error).__name__}: {error}")
            return calling.CallError(base.Fault("connection", reason), may_pass=True)
        # An error that is declared to be JSON and is none comes from a gateway.
        is_gateways = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        fault = base.Fault("other", self._clean(f"{type(error).__name__}: {error}"))
        return calling.CallError(fault, is_gateways)

    async def aclose(self) -> None:
        if self._client is not None:  # and kept: its finalizer starts a task wherever a loop is running
            await self._client.aio.aclose()
            self._client.close()
        for session in self._sessions:
            await session.close()

    async def _made(self, template: base.RequestTemplate, count: int) -> PreparedRequest:
        request = self._prepared.get((template, count))
        if request is None or not request.is_fresh:
            if len(self._prepared) >= _MOST_PREPARED:
                self._prepared.clear()
            values = {
                **template.settings,
                "system_instruction": template.instructions,
                "response_mime_type": "application/json",
                "response_json_schema": in_order(template.schema),
                "candidate_count": count if count > 1 else None,
                "automatic_function_calling": {"disable": True},
            }
            settings = self._genai.types.GenerateContentConfig.model_validate(values)
            generate = self._client.aio.models.generate_content
            request = await _prepared(generate(model=template.model, contents=PLACE, config=settings))
            self._prepared[template, count] = request
        return request

    async def _sent(self, method: str, request: PreparedRequest, body: bytes | None = None) -> str:
        async with self._sessions[0].request(
            method,
            request.url,
            data=(request.body if body is None else body) or None,
            headers=request.headers,
            ssl=request.ssl,
            timeout=self._http.ClientTimeout(total=self._timeout_ms / 1000),
            allow_redirects=False,  # the key would go along, also to another origin
        ) as response:
            await self._genai.errors.APIError.raise_for_async_response(response)
            return await response.text()

    def _clean(self, text: str) -> str:
        return base.without_key(_OBJECT.sub("", text), self.access.api_key)


def in_order(value: JsonValue) -> JsonValue:
    """Returns a JSON schema that states the order of properties; without it, some models sort them."""
    if isinstance(value, list):
        return [in_order(item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    order: JsonObject = {}
    if value.get("type") == "object" and isinstance(properties, dict):
        order["propertyOrdering"] = list(properties)
    return {**{key: in_order(item) for key, item in value.items()}, **order}


def find_access(config: JudgeConfig, environ: Environ) -> Access:
    """Returns the access to Gemini.

    A project in the config, or a variable of the environment, selects Vertex AI. A project is preferred to a
    key there. A secret is not read here. Raises ConfigError if no setting gives one, or two exclude each
    other.
    """
    secret = config.api_key_secret
    if secret and config.project:
        raise ConfigError("judge: project and api_key_secret exclude each other: Vertex AI needs no key")
    vertexai = bool(config.project) or (_is_vertexai_set(environ) and not secret)
    key = None if secret else key_in(environ, *_KEYS)
    variable = "GOOGLE_VERTEX_BASE_URL" if vertexai else "GOOGLE_GEMINI_BASE_URL"
    base_url = config.base_url or environ.get(variable)
    if not vertexai:
        if not key and not secret:
            raise ConfigError(f"judge: no credentials for gemini; {HOW_TO}")
        return Access(base_url or _NAME, key, base_url, secret=secret)
    endpoint = base_url or "vertexai"
    project = config.project or environ.get("GOOGLE_CLOUD_PROJECT")
    location = config.location or environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    if project:
        return Access(endpoint, None, base_url, True, project, location)
    if key:
        return Access(endpoint, key, base_url, True)
    raise ConfigError(f"judge: no project for Vertex AI; {HOW_TO}")


def _is_available(config: JudgeConfig, environ: Environ) -> bool:
    key = config.api_key_secret or key_in(environ, *_KEYS)
    return bool(key or config.project or _is_vertexai_set(environ))


def _is_vertexai_set(environ: Environ) -> bool:
    wish = environ.get("GOOGLE_GENAI_USE_ENTERPRISE") or environ.get("GOOGLE_GENAI_USE_VERTEXAI") or ""
    return wish.lower() in ("true", "1")


def _check_settings(model: str, settings: JsonObject) -> None:
    from google.genai import types

    types.GenerateContentConfig.model_validate(settings)


calling.register_api(
    _NAME,
    "a model, through google-genai",
    find_access,
    GeminiBackend,
    _check_settings,
    is_available=_is_available,
    provider=(_NAME, "vertex_ai"),
    paths=("models", "tunedModels", "publishers", "projects", "google"),
    needs_model=False,
    has_batches=True,
)
