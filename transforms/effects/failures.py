"""Detects failed calls by the tool's response."""

import re
from collections.abc import Mapping
from functools import lru_cache

from turnwise.schemas.conversation import ToolResponse
from turnwise.schemas.jsonio import json_structure
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.effects.inferred import words_of

_DEEPEST = 4
_MOST_PARTS = 20
_LONGEST_TEXT = 500
_ERROR_KEYS = frozenset(("error", "errors", "exception", "errormessage", "errorcode", "errortype", "iserror"))
_SUCCESS_KEYS = frozenset(("success", "succeeded", "successful", "ok", "issuccess"))
_STATUS_KEYS = frozenset(("status", "statuscode", "httpstatus", "httpstatuscode", "responsecode"))
_HOLDING_KEYS = ("result", "output", "response", "content", "body", "structuredcontent", "text", "message",
                 "detail", "msg")  # fmt: skip
_TELLING_KEYS = _ERROR_KEYS | _SUCCESS_KEYS | _STATUS_KEYS | {*_HOLDING_KEYS}
_NO_ERROR = ("", "0", "none", "null", "false", "no", "ok", "no error", "success")
_GOOD_STATUS = frozenset(("success", "succeeded", "successful", "ok", "200", "201", "completed", "done"))
_BAD_STATUS = re.compile(
    r"error|errored|fail|failed|failure|fatal|exception|invalid.*|not[ _-]?found|bad[ _-]?request|forbidden"
    r"|unauthori[sz]ed|aborted|time[d ]?[ _-]?out|[45]\d\d\b.*"
)
_OPENING = re.compile(
    r"[\W_]*(?:(?:\w+ )?(?:errors?|failure)\b(?![ -]?free)|[\w.]*(?:error|exception)\b ?[:(]"
    r"|exception\b|traceback \(|fail(?:ed|ure)?\b|fatal\b|invalid\b|forbidden\b|unauthori[sz]ed\b|bad request"
    r"|(?:access|permission) denied|no such\b|not found\b|insufficient\b"
    r"|not (?:allowed|permitted|possible|authori[sz]ed)\b|http\S* [45]\d\d\b"
    r"|(?:http\S* |status(?: code)?:? ?)?[45]\d\d (?:[a-z-]+ ){0,3}"
    r"(?:error|request|unauthori[sz]ed|forbidden|found|conflict|gone|unavailable|timeout|gateway)\b"
    r"|fehler\b|erreur\b|échec\b|fallo\b|오류|실패|에러|エラー|失敗|错误|失败|錯誤)"
)
_SAYING = re.compile(
    r"\b(?:unable to|can ?not|can['’]t|could ?n['’]t|could not|not found|does ?n['’]t exist|does not exist"
    r"|(?:do|does|did)(?: not|n['’]t) have"
    r"|not (?:allowed|permitted|authori[sz]ed)|failed|denied|timed out|is invalid|are invalid|not valid)\b"
)
_SUCCEEDING = re.compile(
    r"\b(?:success(?:ful|fully)?|succeeded|completed|(?:no|0|without(?: any)?) errors?|0 failed)\b"
)
_SO_BEFORE = re.compile(r"\b(?:is|are|was|were) already \w+(?: \w+){0,2}$")
_CLAUSE_END = re.compile(r"[.!?;\n](?:\s|$)")


def has_failed(response: ToolResponse | None, tool: str = "") -> bool:
    """Returns whether a call failed, by the log's error mark or else by the content of the response.

    A text is a failure if it starts like an error (`Error: ...`, `ValueError: ...`, `404 Not Found`) or if
    its first clause states one (`order not found`). An object is a failure by `error`, `isError`, `success`,
    `ok`, a status of 400 or more or a status such as `failed`, at the top or inside `result`, `content` and
    similar keys.

    Args:
        response: The response; None (not recorded) counts as success.
        tool: Name of the tool. For a tool that denies, "denied" is a success.
    """
    if response is None:
        return False
    return bool(response.error) or _says_failure(response.response, _DEEPEST, tool)


@lru_cache(maxsize=4096)
def _denies(tool: str) -> bool:
    return "deny" in words_of(tool)


def changed_nothing(response: ToolResponse | None) -> bool:
    """Returns whether a response states that nothing had to change (`it was already open`)."""
    answer = response.response if response else None
    return isinstance(answer, str) and _SO_BEFORE.search(_first_clause(answer)) is not None


def _says_failure(answer: JsonValue, depth: int, tool: str) -> bool:
    if isinstance(answer, dict):
        return depth > 0 and _object_says_failure(answer, depth, tool)
    if isinstance(answer, str):
        decoded = json_structure(answer)
        if decoded is None:
            return _text_says_failure(answer, tool)
        return _says_failure(decoded, depth, tool)
    if depth and isinstance(answer, list) and answer:
        return all(
            isinstance(part, dict | str) and _says_failure(part, depth - 1, tool)
            for part in answer[:_MOST_PARTS]
        )
    return False


def _text_says_failure(text: str, tool: str) -> bool:
    plain, clause = _plain(text), _first_clause(text)
    if _SUCCEEDING.search(clause):
        return False
    said = {found[0] for found in _SAYING.finditer(clause)} - ({"denied"} if _denies(tool) else set())
    return _OPENING.match(plain) is not None or bool(said)


def _plain(text: str) -> str:
    return " ".join(text[:_LONGEST_TEXT].casefold().split())


def _first_clause(text: str) -> str:
    return _CLAUSE_END.split(_plain(text), maxsplit=1)[0]


def _object_says_failure(answer: JsonObject, depth: int, tool: str) -> bool:
    telling = _telling_keys(tuple(answer))
    if not telling:
        return False
    marks = []
    for plain, key in telling.items():
        value = answer[key]
        if plain in _STATUS_KEYS:
            marks.append(_status(value))
        elif plain in _SUCCESS_KEYS:
            marks.append(_is_true(value))
        elif plain in _ERROR_KEYS and _is_error(value):
            return True
    if False in marks or True in marks:
        return False in marks
    held = (answer[telling[plain]] for plain in _HOLDING_KEYS if plain in telling)
    return any(_says_failure(value, depth - 1, tool) for value in held)


@lru_cache(maxsize=4096)
def _telling_keys(keys: tuple[str, ...]) -> Mapping[str, str]:
    """Returns the keys of an object that may say something of a failure, by their plain form.

    Objects have few different sets of keys. Of keys with the same plain form the last one counts.
    """
    return {plain: key for key in keys if (plain := _telling(key))}


@lru_cache(maxsize=4096)
def _telling(key: object) -> str:
    """Returns a key without its case and marks; "": it says nothing of a failure."""
    plain = re.sub(r"[\W_]", "", str(key)).lower()
    return plain if plain in _TELLING_KEYS else ""


def _is_error(value: JsonValue) -> bool:
    return value.strip().lower() not in _NO_ERROR if isinstance(value, str) else bool(value)


def _is_true(value: JsonValue) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in ("true", "yes", "1") else False if text in ("false", "no", "0") else None
    return bool(value) if isinstance(value, bool | int | float) else None


def _status(value: JsonValue) -> bool | None:
    """Returns whether a status means success; None: neither (`cancelled` is the state of a resource)."""
    if isinstance(value, str) and value in _GOOD_STATUS:
        return True
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if text in _GOOD_STATUS:
        return True
    return False if _BAD_STATUS.fullmatch(text) else None
