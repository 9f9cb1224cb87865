"""Requests and replies of models, independent of their API, and the `Backend` protocol."""

import inspect
import re
from base64 import b64encode
from typing import Literal, Protocol
from urllib.parse import quote

from msgspec import Struct
from pydantic import ValidationError

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject

FaultKind = Literal[
    "blocked", "max_tokens", "empty", "http", "timeout", "connection", "json", "schema", "budget", "other"
]
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

    >>> import turnwise
    >>> turnwise.Fault("timeout", "no answer within 60 s").kind
    'timeout'
    """

    kind: FaultKind
    reason: str


class RequestTemplate(Struct, frozen=True, eq=False):
    """Common parts of requests of one kind.

    Attributes:
        model: Name of the model.
        instructions: The system instruction.
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
        model: Name of the model.
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
        """Makes one call, with retries and a time-out.

        Args:
            request: The request.
            count: Number of candidates, 1..MAX_CANDIDATES.

        Returns:
            `count` replies, each with a text or a fault.

        Raises:
            AuthenticationError: The credentials are refused.
            OneCandidateError: The model does not support several candidates.
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


def without_secrets(text: str, key: str | None) -> str:
    """Returns a text without an API key, in whatever spelling, and without what looks like one."""
    if key:
        spellings = (key, quote(key, safe=""), b64encode(key.encode()).decode().rstrip("="))
        for spelling in spellings:
            text = text.replace(spelling, "[key]")
    return _SECRETS.sub("[key]", text)


def without_key(text: str, key: str | None) -> str:
    """Returns a text in one line, without an API key."""
    return one_line(without_secrets(text, key))


def cleaned(reply: RawReply, key: str | None) -> RawReply:
    """Returns a reply without keys: what a gateway answers reaches rows, explanations and `run.json`."""
    fault, text, model = reply.fault, reply.text, without_key(reply.model, key)
    if fault is not None:
        fault = Fault(fault.kind, without_key(fault.reason, key))
    if text is not None and key and key in text:
        text = text.replace(key, "[key]")
    if (fault, text, model) == (reply.fault, reply.text, reply.model):
        return reply
    return RawReply(text, fault, model, reply.tokens_in, reply.tokens_out)


def wrong_setting(error: ValidationError) -> str:
    """Returns what is wrong with generation settings, in one line that quotes none."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return one_line(f"generation settings: {path}: {first['msg']}")


def one_line(text: str, longest: int = 200) -> str:
    """Returns a text in one line of at most `longest` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
