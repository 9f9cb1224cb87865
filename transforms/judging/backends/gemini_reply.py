"""Reads the answer to a call of generateContent."""

from typing import Any

import orjson

from turnwise.schemas.values import JsonObject
from turnwise.transforms.judging.backends.base import Fault, RawReply, one_line

_FINISHED = (None, "STOP", "FINISH_REASON_UNSPECIFIED")
_EMPTY = Fault("empty", "the model gave no answer")


def read_answer(body: str | bytes, model: str, count: int) -> list[RawReply]:
    """Returns `count` replies out of a response in JSON.

    The tokens of the call are divided among the replies; their sums are exact. Missing candidates are faults.

    Args:
        body: The HTTP response's body.
        model: Requested model; replaced by the model that the response states.
        count: Candidates that were asked for.
    """
    try:
        answer = orjson.loads(body)
        texts = _texts(answer, count)
        tokens_in, tokens_out = _tokens(answer.get("usageMetadata") or {})
        model = answer.get("modelVersion") or model
    except (AttributeError, KeyError, TypeError, ValueError):
        return [RawReply(None, Fault("json", "the API's response is broken"), model)] * count
    return [
        RawReply(
            text if isinstance(text, str) else None,
            text if isinstance(text, Fault) else None,
            model,
            _share(tokens_in, count, number),
            _share(tokens_out, count, number),
        )
        for number, text in enumerate(texts)
    ]


def _texts(answer: JsonObject, count: int) -> list[str | Fault]:
    candidates = answer.get("candidates") or []
    blocked = (answer.get("promptFeedback") or {}).get("blockReason")
    missing = Fault("blocked", one_line(f"the question was blocked: {blocked}")) if blocked else _EMPTY
    texts = [_text(candidate) for candidate in candidates[:count]]
    return texts + [missing] * (count - len(texts))


def _text(candidate: JsonObject) -> str | Fault:
    finish = candidate.get("finishReason")
    if finish == "MAX_TOKENS":
        return Fault("max_tokens", "the answer was cut off at its token limit (MAX_TOKENS)")
    if finish not in _FINISHED:
        return Fault("blocked", one_line(f"the answer was withheld: {finish}"))
    parts: list[dict[str, Any]] = (candidate.get("content") or {}).get("parts") or []
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    return text if text.strip() else _EMPTY


def _tokens(usage: JsonObject) -> tuple[int, int]:
    tokens_in = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    tokens_out = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
    return int(tokens_in), int(tokens_out)


def _share(total: int, count: int, number: int) -> int:
    return total // count + (number < total % count)
