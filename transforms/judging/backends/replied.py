"""Makes replies of the response of any API."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import orjson

from turnwise.schemas.jsonio import JsonObject, key_twice
from turnwise.transforms.judging.backends.base import Fault, RawReply, one_line

_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_UNOPENED = re.compile(r"\s*[^\s{\[`].*?</think>", re.DOTALL)
EMPTY = Fault("empty", "the model gave no answer")

TokenFigures: TypeAlias = "tuple[int, int] | None"
"""Prompt tokens, and answer tokens including thoughts; None: the API does not state them."""


class ReadAnswer(NamedTuple):
    """What a response holds.

    Attributes:
        texts: A text or a fault for every answer; those that are missing are not there.
        tokens: TokenFigures of the call.
        model: The model that answered; None: the requested one.
        missing: The fault of answers that are not there.
    """

    texts: list[str | Fault]
    tokens: TokenFigures
    model: str | None
    missing: Fault = EMPTY


def replies_of(
    body: str | bytes, model: str, count: int, read: Callable[[JsonObject], ReadAnswer]
) -> list[RawReply]:
    """Returns `count` replies out of a response in JSON.

    The tokens of the call are divided among the replies; their sums are exact.

    Args:
        body: The HTTP response's body.
        model: Requested model; replaced by the model that the response states.
        count: Number of answers that were asked for.
        read: Reads the response; raises AttributeError, KeyError, TypeError or ValueError if it is none.
    """
    try:
        value = orjson.loads(body)
        if key_twice(body if isinstance(body, bytes) else body.encode(), value) is not None:
            raise ValueError("one key twice")
        texts, tokens, stated, missing = read(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        fault = Fault("json", "the API's response is broken")
        return [RawReply(None, fault, model, None, None)] * count
    texts = [text if isinstance(text, Fault) or text.strip() else EMPTY for text in texts[:count]]
    return [
        RawReply(
            text if isinstance(text, str) else None,
            text if isinstance(text, Fault) else None,
            stated or model,
            _share(tokens and tokens[0], count, number),
            _share(tokens and tokens[1], count, number),
        )
        for number, text in enumerate(texts + [missing] * (count - len(texts)))
    ]


def cut_off(word: str) -> Fault:
    """Returns the fault of an answer that is not complete."""
    return Fault("max_tokens", f"the answer was cut off at its token limit ({word})")


def failed(error: object, word: str) -> Fault:
    """Returns the fault of an answer in whose place an error came, with a good status.

    Args:
        error: The error; only its code is quoted, because the rest of it might hold secrets.
        word: What is said of an error without a code.
    """
    code = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
    return Fault("other", one_line(f"the API failed: {code or word}"))


def withheld(word: str) -> Fault:
    """Returns the fault of an answer that the API or the model refuses."""
    return Fault("blocked", one_line(f"the answer was withheld: {word}"))


def without_thoughts(text: str) -> str:
    """Returns an answer without the thoughts that some servers leave before it.

    Where the model's template opens them, they only have an end.
    """
    found = _THOUGHTS.match(text) or _UNOPENED.match(text)
    return text[found.end() :] if found else text


def _share(total: int | None, count: int, number: int) -> int | None:
    return None if total is None else total // count + (number < total % count)
