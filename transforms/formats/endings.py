"""The words by which logs say how a conversation ended."""

import re
from typing import NamedTuple

from turnwise.schemas.conversation import Ended
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import error_mark

ENDED, DETAIL, TERMINATION = "ended", "ended_detail", "termination_reason"
_SHOWN = 500
_WORDS: dict[Ended, str] = {
    "normally": "normally normal completed user_stop agent_stop",
    "agent_error": "agent_error error failed crashed exception too_many_errors",
    "limit": "limit limit_reached max_steps max_turns max_tokens timeout context_window_exceeded",
    "user_left": "user_left",
    "hand_off": "hand_off handoff handed_off escalated transferred",
    "environment_error": "environment_error user_error infrastructure_error unexpected_error",
}
_REASONS: dict[Ended, str] = {
    "normally": "stop end_turn stop_sequence",
    "limit": "length max_tokens model_length model_context_window_exceeded",
    "agent_error": "content_filter refusal error safety recitation blocklist prohibited_content spii "
    "image_safety malformed_function_call unexpected_tool_call too_many_tool_calls",
}
_BY_WORD = {word: ended for ended, words in _WORDS.items() for word in words.split()}
_BY_REASON = {word: ended for ended, words in _REASONS.items() for word in words.split()}
_IS_LIMIT = re.compile(
    "max_(tokens|turns|steps|llm_calls)|limit_?exceeded|limit_of.*exceeded|deadline|timed?_?out"
)


class End(NamedTuple):
    """How a conversation ended (None: not told, or in a word that is not known), in the log's words."""

    ended: Ended | None = None
    detail: str | None = None


UNKNOWN = End()


def stated_end(word: JsonValue, detail: JsonValue = None) -> End:
    """Returns the end that a log names.

    A word that is not known stays as the detail alone: it may mean anything. True and false do not say how.

    Args:
        word: A canonical name, or one of tau2's reasons; case, blanks and hyphens do not matter.
        detail: What else the log says of it.
    """
    said = _text(detail)
    if word is None or isinstance(word, bool) or word == "":
        return End(None, said)
    name = _text(word) or ""
    ended = _BY_WORD.get(_plain(name))
    if ended is None:
        return End(None, f"{name}: {said}" if said else name)
    return End(ended, said or (None if name == ended else name))


def record_end(record: JsonObject) -> End:
    """Returns the end that a record names: `ended`, or tau2's `termination_reason`, in `meta` too."""
    own = stated_end(record.get(ENDED), record.get(DETAIL))
    if own != UNKNOWN:
        return own
    meta = record.get("meta")
    stated = record.get(TERMINATION)
    if stated is None and isinstance(meta, dict):
        stated = meta.get(TERMINATION)
    return stated_end(stated)


def finished_end(reason: JsonValue) -> End:
    """Returns the end that the model's last finish reason tells (OpenAI's, Anthropic's or Gemini's words)."""
    name = _text(reason)
    ended = _BY_REASON.get(_plain(name).removeprefix("finishreason.")) if name else None
    return UNKNOWN if ended is None else End(ended, name)


def error_end(*said: JsonValue) -> End:
    """Returns the end by an error, whose code and message the log gives: a limit, if it speaks of one."""
    detail = ": ".join(text for text in map(_text, said) if text)
    return End("limit" if _IS_LIMIT.search(_plain(detail)) else "agent_error", detail or None)


def _plain(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())


def _text(value: JsonValue) -> str | None:
    """Returns a value as one bounded line; None for one that says nothing."""
    said = str(value) if isinstance(value, int | float) else error_mark(value)
    return " ".join(said.split())[:_SHOWN] or None if isinstance(said, str) else None
