"""Requests and replies of models, independent of their API, and the `Backend` protocol."""

import base64
import inspect
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, fault_text

FaultKind = Literal[
    "blocked", "max_tokens", "empty", "http", "timeout", "connection", "json", "schema", "budget", "batch",
    "other",
]  # fmt: skip
MAX_CANDIDATES = 8


class AuthenticationError(ConfigError):
    """The model's API refuses the credentials; every further call would fail alike."""


class OneCandidateError(Exception):
    """The model returns at most one candidate per call."""


class Fault(Struct, frozen=True):
    """Reason for an unusable answer.

    Attributes:
        kind: Category for counting.
        reason: One line, without secrets.
        is_final: Whether the same question would be refused each time.

    >>> import turnwise
    >>> turnwise.Fault("timeout", "no answer within 60 s").kind
    'timeout'
    """

    kind: FaultKind
    reason: str
    is_final: bool = False


class RequestTemplate(Struct, frozen=True, eq=False):
    """Common parts of requests of one kind.

    Attributes:
        schema: JSON schema of an answer.
        settings: Generation settings in google-genai's JSON, names in snake_case.
        digest: SHA-256 over these fields, the endpoint and the prompt's version.
        name: The model as the config names it, by which it is counted and priced.
        judge: Name of the judge whose API has the model.
    """

    model: str
    instructions: str
    schema: JsonObject
    settings: JsonObject
    digest: bytes
    name: str = ""
    judge: str = ""


class Request(Struct, frozen=True):
    """A request to a model.

    Attributes:
        evidence: The one user message.
        key: SHA-256 over everything that decides the answer; equal requests have equal keys.
    """

    template: RequestTemplate
    evidence: str
    key: bytes


class RawReply(Struct, frozen=True):
    """Reply of a model.

    Attributes:
        text: The answer without thoughts; None: there is a fault.
        tokens_in: Share of the prompt tokens for this reply; None: the API does not state them.
        tokens_out: Answer tokens, including thoughts; None: the API does not state them.

    >>> import turnwise
    >>> turnwise.RawReply('{"grade": 3}', model="m-1", tokens_in=120, tokens_out=6).fault is None
    True
    """

    text: str | None
    fault: Fault | None = None
    model: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0


class BatchState(NamedTuple):
    """What became of a batch job.

    Attributes:
        status: The provider's word for it.
        is_ended: Whether it has no more answers to give.
        answers: Id of a request -> body of the response, or why there is none.
        why: What the provider says of a job that failed; "": nothing.
    """

    status: str
    is_ended: bool
    answers: Mapping[str, str | bytes | Fault] = {}
    why: str = ""


class Backend(Protocol):
    """A model's API.

    >>> import json, turnwise
    >>> class Same:
    ...     async def generate(self, request, count):
    ...         quotes = {"reference_quote": "Good day", "answer_quote": "Hello", "reason": ""}
    ...         return [turnwise.RawReply(json.dumps({**quotes, "verdict": "valid"}))] * count
    ...     async def aclose(self):
    ...         pass
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Good day"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> turnwise.evaluate(log, criteria={"final_response_match_v2": 0.5}, judge=Same()).status
    'PASS'
    """

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Returns `count` replies (1..MAX_CANDIDATES) of one call, with retries and a time-out.

        Each has a text or a fault. Raises AuthenticationError if the credentials are refused,
        OneCandidateError if the model does not support several candidates.
        """

    async def aclose(self) -> None:
        """Closes the connections."""


def backend_fault(value: object) -> str | None:
    """Returns why an object cannot be used as a `Backend`, in one line; None: it can."""
    if isinstance(value, type):
        return f"{value.__name__} is a class; give an instance of it"
    for name in ("generate", "aclose"):
        method = getattr(value, name, None)
        if not callable(method):
            return f"{type(value).__name__} has no method {name}"
        if inspect.ismethod(method) and not inspect.iscoroutinefunction(inspect.unwrap(method)):
            return f"{name} of {type(value).__name__} is no `async def`"
    return None


_SECRETS = re.compile(
    r"(?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|rk|xox[a-z]|gh[a-z]|glpat)[-_][\w-]{12,}|\bAIza[\w-]{20,}|\bya29\.[\w.-]+|\bAKIA[A-Z0-9]{12,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    r"|(?i:(?<=[?&])|\b)(?i:(?:x-)?(?:goog-)?(?:api[-_]?)?key|access[-_]?token|authorization|secret|password)"
    r"(?:\"|')?\s*[:=]\s*(?:\"|')?[\w.~+/%=-]{8,}"
)
"""Keys and tokens as servers and gateways print them, also those of somebody else."""


def without_key(text: str, key: str | None) -> str:
    """Returns a text in one line, without an API key."""
    if key:
        for spelling in (key, quote(key, safe=""), b64encode(key.encode()).decode().rstrip("=")):
            text = text.replace(spelling, "[key]")
    return one_line(_SECRETS.sub("[key]", text))


def cleaned(reply: RawReply, key: str | None) -> RawReply:
    """Returns a reply without keys: what a gateway answers reaches rows, explanations and `run.json`."""
    fault, text = reply.fault, reply.text
    if fault is not None:
        fault = replace(fault, reason=without_key(fault.reason, key))
    if text is not None and key:
        text = text.replace(key, "[key]")
    return replace(reply, text=text, fault=fault, model=without_key(reply.model, key))


def wrong_setting(error: ValidationError) -> str:
    """Returns what is wrong with generation settings, in one line that quotes none."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return one_line(f"generation settings: {path}: {fault_text(first)}")


def one_line(text: str, longest: int = 200) -> str:
    """Returns a text in one line of at most `longest` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


EMPTY = Fault("empty", "the model gave no answer")


class ReadAnswer(NamedTuple):
    """What a response holds.

    Attributes:
        texts: A text or a fault for every answer; those that are missing are not there.
        tokens: Prompt tokens of the call, and answer tokens including thoughts; None: they are not stated.
        model: The model that answered; None: the requested one.
        missing: The fault of answers that are not there.
    """

    texts: list[str | Fault]
    tokens: tuple[int, int] | None
    model: str | None
    missing: Fault = EMPTY


def stated_tokens(usage: JsonObject | None, *sides: Sequence[str]) -> tuple[int, int] | None:
    """Returns the tokens of prompt and answer that a response states, by the names of their parts.

    None: the first part of a side is not there, or a part is no count, such as -1 for unknown.
    """
    stated, sums = usage or {}, list[int]()
    for first, *others in sides:
        parts: list[Any] = [stated.get(first), *(stated.get(name) or 0 for name in others)]
        if any(type(part) is not int or part < 0 for part in parts):
            return None
        sums.append(sum(parts))
    return sums[0], sums[1]


def cut_off(word: str) -> Fault:
    """Returns the fault of an answer that is not complete."""
    return Fault("max_tokens", f"the answer was cut off at its token limit ({word})")


def failed(error: object, word: str) -> Fault:
    """Returns the fault of an error in place of an answer, by its code: the rest might hold secrets."""
    code = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
    return Fault("other", one_line(f"the API failed: {code or word}"))


def withheld(word: str) -> Fault:
    """Returns the fault of an answer that the API or the model refuses."""
    return Fault("blocked", one_line(f"the answer was withheld: {word}"))


OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"
"""gcloud's variable for another address of the service."""

_LOCATION = re.compile(r"projects/[^/]+/locations/([^/]+)/")
_REFUSALS = {
    403: "HTTP 403: this identity may not read it (it needs the role Secret Manager Secret Accessor)",
    404: "HTTP 404: there is no such secret or version",
}


def read_secret(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns a secret's text; raises ConfigError, in one line without the secret, if it cannot be read."""
    # Loading them takes time, which only those who need them wait for.
    import google.auth
    import requests
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    try:
        credentials, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
        credentials.refresh(Request())
        headers = {"Authorization": f"Bearer {credentials.token}"}
        region = _LOCATION.match(name)
        part = f".{region[1]}.rep" if region else ""
        address = environ.get(OVERRIDE) or f"https://secretmanager{part}.googleapis.com"
        url = f"{address.rstrip('/')}/v1/{name}:access"
        answer = requests.get(url, headers=headers, timeout=30, allow_redirects=False)
    except (GoogleAuthError, requests.RequestException) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"judge.api_key_secret: {name}: cannot be read: {reason}") from None
    if answer.status_code != 200:
        refusal = _REFUSALS.get(answer.status_code, f"HTTP {answer.status_code}")
        raise ConfigError(f"judge.api_key_secret: {name}: {refusal}")
    try:
        return base64.b64decode(answer.json()["payload"]["data"], validate=True).decode("ascii").strip()
    except (KeyError, TypeError, ValueError):
        raise ConfigError(f"judge.api_key_secret: {name}: holds no API key") from None
