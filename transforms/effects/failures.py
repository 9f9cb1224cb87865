"""Detects failed calls by the tool's response."""

import re
from collections.abc import Sequence
from functools import lru_cache

from turnwise.schemas.conversation import ToolResponse
from turnwise.schemas.jsonio import json_structure
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.effects.inferred import words_of
from turnwise.transforms.text.failure_marks import plain_key, states_failure

_DEEPEST = 4
_MOST_PARTS = 20
_LONGEST_TEXT = 500
_HOLDING_KEYS = ("result", "data", "output", "response", "content", "body", "structuredcontent", "text",
                 "message", "detail", "msg")  # fmt: skip
_OPENING = re.compile(
    r"[\W_]*(?:(?:\w+ )?(?:errors?|failure)\b(?![ -]?free)|[\w.]*(?:error|exception)\b ?[:(]"
    r"|exception\b|traceback \(|fail(?:ed|ure)?\b|fatal\b|invalid\b|forbidden\b|unauthori[sz]ed\b|bad request"
    r"|(?:access|permission) denied|no such\b|not found\b|insufficient\b"
    r"|not (?:allowed|permitted|possible|authori[sz]ed)\b|http\S* [45]\d\d\b"
    r"|time ?out\b|connection (?:refused|reset|aborted|closed)|(?:service )?unavailable\b"
    r"|internal server error\b"
    r"|(?:http\S* |status(?: code)?:? ?)?[45]\d\d (?:[a-z-]+ ){0,3}"
    r"(?:error|request|unauthori[sz]ed|forbidden|found|conflict|gone|unavailable|timeout|gateway)\b"
    r"|fehler\b|erreur\b|échec\b|fallo\b|오류|실패|에러|エラー|失敗|错误|失败|錯誤)"
)
_SAYING = re.compile(
    r"\b(?:unable to|can ?not|can['’]t|could ?n['’]t|could not|not found|does ?n['’]t exist|does not exist"
    r"|(?:do|does|did)(?: not|n['’]t) have"
    r"|fehlgeschlagen|konnten? nicht|nicht möglich|fall(?:ó|aron|ado)|no se (?:pudo|puede)|échoué"
    r"|n['’]a pas pu|não foi possível|falhou|non riuscit[oa]|fallit[oa]|mislukt"
    r"|not (?:allowed|permitted|authori[sz]ed)|failed|denied|timed out|is invalid|are invalid|not valid)\b"
)
_SAYING_UNSPACED = re.compile(r"失敗|できません(?:でした)?|실패|할 수 없|失败|无法|無法")
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
    has_unspaced = not clause.isascii() and _SAYING_UNSPACED.search(clause) is not None
    return _OPENING.match(plain) is not None or bool(said) or has_unspaced


def _plain(text: str) -> str:
    return " ".join(text[:_LONGEST_TEXT].casefold().split())


def _first_clause(text: str) -> str:
    return _CLAUSE_END.split(_plain(text), maxsplit=1)[0]


def _object_says_failure(answer: JsonObject, depth: int, tool: str) -> bool:
    marked = states_failure(answer)
    if marked is not None:
        return marked
    return any(_says_failure(answer[key], depth - 1, tool) for key in _holding_keys(tuple(answer)))


@lru_cache(maxsize=4096)
def _holding_keys(keys: tuple[str, ...]) -> Sequence[str]:
    """Returns the keys of an object under which a failure may be stated; of equal ones the last counts."""
    plain = {plain_key(key): key for key in keys}
    return [plain[name] for name in _HOLDING_KEYS if name in plain]
