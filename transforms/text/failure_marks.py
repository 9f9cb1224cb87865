"""Reads the marks by which logs and tools say that a call failed, as `isError` or `"status": "failed"`."""

import re
from collections.abc import Mapping
from functools import lru_cache

from turnwise.schemas.values import JsonObject, JsonValue

_ERROR_KEYS = frozenset(("error", "errors", "exception", "errormessage", "errorcode", "errortype", "iserror"))
_SUCCESS_KEYS = frozenset(("success", "succeeded", "successful", "ok", "issuccess"))
_STATUS_KEYS = frozenset(("status", "outcome", "statuscode", "httpstatus", "httpstatuscode", "responsecode"))
_MARKS = _ERROR_KEYS | _SUCCESS_KEYS | _STATUS_KEYS
_NO_ERROR = ("", "0", "none", "null", "false", "no", "ok", "no error", "success")
_GOOD_STATUS = frozenset(("success", "succeeded", "successful", "ok", "200", "201", "completed", "done"))
_BAD_STATUS = re.compile(
    r"error|errored|unavailable|unsuccessful|fail|failed|failure|fatal|exception|invalid.*|not[ _-]?found"
    r"|bad[ _-]?request|forbidden"
    r"|unauthori[sz]ed|aborted|time[d ]?[ _-]?out|[45]\d\d\b.*"
)


@lru_cache(maxsize=4096)
def plain_key(key: object) -> str:
    """Returns a key without its case and punctuation."""
    return re.sub(r"[\W_]", "", str(key)).lower()


def states_failure(held: JsonObject) -> bool | None:
    """Returns whether the marks of an object state a failure; None: it has no mark that tells."""
    marks = []
    for plain, key in _mark_keys(tuple(held)).items():
        value = held[key]
        if plain in _STATUS_KEYS:
            marks.append(_status(value))
        elif plain in _SUCCESS_KEYS:
            marks.append(_is_true(value))
        elif _is_error(value):
            return True
    if False in marks or True in marks:
        return False in marks
    return _says_code(held) or None


def _says_code(held: JsonObject) -> bool:
    """Returns whether an object gives an HTTP status as `code`, with a message beside it."""
    code = held.get("code")
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return is_status and any(
        isinstance(held.get(name), str) for name in ("message", "detail", "msg", "reason")
    )


@lru_cache(maxsize=4096)
def _mark_keys(keys: tuple[str, ...]) -> Mapping[str, str]:
    """Returns the keys of an object that are marks, by their plain form.

    Objects have few different sets of keys. Of keys with the same plain form the last one counts.
    """
    return {plain: key for key in keys if (plain := plain_key(key)) in _MARKS}


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
