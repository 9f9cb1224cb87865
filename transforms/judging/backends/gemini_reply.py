"""Reads the answer to a call of generateContent."""

from typing import Any

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import Fault, RawReply, one_line
from turnwise.transforms.judging.backends.replied import (
    EMPTY,
    ReadAnswer,
    TokenFigures,
    cut_off,
    replies_of,
    withheld,
)

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
