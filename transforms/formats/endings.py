"""Maps words of logs to the end of a conversation."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from turnwise.schemas.conversation import Ended
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import error_mark

ENDED, DETAIL, TERMINATION = "ended", "ended_detail", "termination_reason"
TERMINATIONS = (TERMINATION, "terminationReason")
ERROR, STATUS = "error", "status"
REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason")
_HOLDERS = ("meta", "metadata", "info")
_SHOWN = 500
_WORDS: dict[Ended, str] = {
    "normally": "normally normal completed user_stop agent_stop",
    "agent_error": "agent_error error failed failure crashed exception too_many_errors",
    "limit": "limit limit_reached max_steps max_turns max_tokens timeout context_window_exceeded",
    "user_left": "user_left",
    "hand_off": "hand_off handoff handed_off escalated transferred",
    "environment_error": "environment_error user_error infrastructure_error unexpected_error",
}
_REASONS: dict[Ended, str] = {
    "normally": "stop end_turn stop_sequence eos_token",
    "limit": "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    "agent_error": "content_filter content_filtered guardrail_intervened refusal error safety recitation "
    "blocklist prohibited_content spii image_safety malformed_function_call "
    "malformed_response unexpected_tool_call too_many_tool_calls",
}
_GOOD: tuple[Ended | None, ...] = ("normally", "hand_off", "user_left")
_BY_WORD = {word: ended for ended, words in _WORDS.items() for word in words.split()}
_BY_REASON = {word: ended for ended, words in _REASONS.items() for word in words.split()}
_CALLS = frozenset(("tool_calls", "function_call", "tool_use"))
_UNSAID = frozenset(("finish_reason_unspecified", "none", "null"))
_UNFINISHED = frozenset(
    ("aborted", "cancelled", "canceled", "incomplete", "in_progress", "interrupted", "running")
)
_MARK = re.compile(r"###([A-Z-]+)###\s*$")
_BY_MARK: dict[str, Ended] = {"STOP": "normally", "TRANSFER": "hand_off", "OUT-OF-SCOPE": "environment_error"}
_IS_LIMIT = re.compile(
    "max_(tokens|turns|steps|llm_calls)|limit_?exceeded|limit_of.*exceeded|deadline|timed?_?out"
)


class End(NamedTuple):
    """End of a conversation (None: not stated, or an unknown word), with the log's description."""

    ended: Ended | None = None
    detail: str | None = None


UNKNOWN = End()


def stated_end(word: JsonValue, detail: JsonValue = None) -> End:
    """Returns the end that a log names.

    An unknown word becomes the detail only. Booleans are ignored.

    Args:
        word: A canonical name, or one of tau2's reasons; case, blanks and hyphens do not matter.
        detail: Description in the log.
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
    """Returns the end that a record names.

    It stands in `ended`, in tau2's `termination_reason` (in `meta`, `metadata` or `info` too), in an `error`,
    or in a `status` that names a failure. Where one of them names a failure and another one a good end, it is
    not known.
    """
    own = stated_end(record.get(ENDED), record.get(DETAIL))
    return agreed_end(own, stated_end(_terminated(record)), marked_end(record))


def agreed_end(*ends: End) -> End:
    """Returns the first stated end; a good one that another contradicts is unknown."""
    stated = [end for end in ends if end != UNKNOWN]
    if not stated:
        return UNKNOWN
    first = stated[0]
    other = next((end for end in stated[1:] if end.ended not in _GOOD), None)
    if other is None or first.ended not in _GOOD:
        return first
    against = ": ".join(filter(None, (other.ended, other.detail)))
    return End(None, f"{first.ended}, and also {against}")


def _terminated(record: JsonObject) -> JsonValue:
    holders = (record, *(record.get(name) for name in _HOLDERS))
    stated = (h.get(key) for h in holders if isinstance(h, dict) for key in TERMINATIONS)
    return next((word for word in stated if word is not None), None)


def marked_end(holder: JsonObject) -> End:
    """Returns the end by the `error`, or by the `status`, that a record, turn or message is marked with."""
    error, info, status = holder.get(ERROR), holder.get("info"), holder.get(STATUS)
    if not error and isinstance(info, dict):
        error = info.get(ERROR)
    if error:
        return error_end(error)
    if not isinstance(status, str):
        return UNKNOWN
    word = _plain(status)
    if word in _UNFINISHED:
        return End(None, status)
    ended = _BY_WORD.get(word)
    return UNKNOWN if ended is None or ended in _GOOD else End(ended, status)


def finished_end(reason: JsonValue, is_call: bool = False) -> End:
    """Returns the end by the model's last finish reason (of OpenAI, Anthropic or Gemini).

    Args:
        reason: The finish reason; an unknown one becomes the detail only.
        is_call: Whether the model's last message calls tools, so that "calls tools" is no end.
    """
    name = None if isinstance(reason, bool) else _text(reason)
    word = _plain(name).removeprefix("finishreason.") if name else ""
    if not word or word in _UNSAID or (is_call and word in _CALLS):
        return UNKNOWN
    return End(_BY_REASON.get(word), name)


def stated_reason(holder: JsonObject) -> JsonValue:
    """Returns the finish reason that a record, turn or message states; None: it states none."""
    return next((holder[key] for key in REASONS if holder.get(key)), None)


def reasons_end(reasons: Iterable[JsonValue], is_call: bool, has_answer: bool) -> End:
    """Returns the end by all finish reasons of the last message, which ends normally only with an answer.

    Args:
        reasons: The reasons, of the message and of its record.
        is_call: Whether the message calls tools; see `finished_end`.
        has_answer: Whether the message is an answer.
    """
    end = agreed_end(*(finished_end(reason, is_call) for reason in reasons))
    return UNKNOWN if end.ended == "normally" and not has_answer else end


def users_end(said: str) -> End:
    """Returns the end by tau2's marks in a simulated user's last message, such as `###STOP###`."""
    mark = _MARK.search(said)
    ended = _BY_MARK.get(mark[1]) if mark else None
    return UNKNOWN if mark is None or ended is None else End(ended, mark[0])


def error_end(*said: JsonValue) -> End:
    """Returns the end by an error's code and message: a limit, if they name one, else an agent error."""
    detail = ": ".join(text for text in map(_text, said) if text)
    return End("limit" if _IS_LIMIT.search(_plain(detail)) else "agent_error", detail or None)


def _plain(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())


def _text(value: JsonValue) -> str | None:
    """Returns a value as one bounded line; None: it is empty."""
    said = str(value) if isinstance(value, int | float) else error_mark(value)
    return " ".join(said.split())[:_SHOWN] or None if isinstance(said, str) else None
