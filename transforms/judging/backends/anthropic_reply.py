"""Reads the answers of Anthropic's Messages API."""

from typing import Any

import orjson

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import Fault, RawReply
from turnwise.transforms.judging.backends.replied import (
    ReadAnswer,
    TokenFigures,
    cut_off,
    replies_of,
    withheld,
    without_thoughts,
)

TOOL = "reply"
"""The tool whose input is the answer."""

_FINISHED = (None, "end_turn", "stop_sequence", "tool_use")
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def read_message(body: str | bytes, model: str) -> list[RawReply]:
    """Returns the reply of a message. See `replies_of`."""
    return replies_of(body, model, 1, _read)


def _read(answer: JsonObject) -> ReadAnswer:
    return ReadAnswer([_text(answer)], _tokens(answer.get("usage") or {}), answer.get("model"))


def _text(answer: JsonObject) -> str | Fault:
    stop = answer.get("stop_reason")
    if stop in _CUT_OFF:
        return cut_off(stop)
    if stop not in _FINISHED:
        return withheld(stop)
    blocks: list[dict[str, Any]] = answer["content"]
    for block in blocks:
        if block["type"] == "tool_use" and block["name"] == TOOL:
            return orjson.dumps(block["input"]).decode()
    return without_thoughts("".join(block["text"] for block in blocks if block["type"] == "text"))


def _tokens(usage: JsonObject) -> TokenFigures:
    if usage.get("input_tokens") is None or usage.get("output_tokens") is None:
        return None
    return sum(int(usage.get(name) or 0) for name in _TOKENS_IN), int(usage["output_tokens"])
