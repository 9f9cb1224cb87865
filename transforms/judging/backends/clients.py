"""What the clients of OpenAI and Anthropic have in common: errors, and requests without a schema."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from turnwise.transforms.judging.backends.attempts import PASSING_STATUSES, asked_wait
from turnwise.transforms.judging.backends.base import Fault, RequestTemplate, without_key
from turnwise.transforms.judging.backends.calling import ApiFailure

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
