"""Reads the marks by which logs and tools say that a call failed, as `isError` or `"status": "failed"`."""

import re
from collections.abc import Sequence
from functools import lru_cache

from turnwise.schemas.jsonio import JsonObject, JsonValue

_ERROR_KEYS = frozenset(
    ("error", "errors", "exception", "errormessage", "errorcode", "errortype", "iserror", "errcode", "errno",
     "errmsg", "errormsg", "errordescription", "errordetails", "faultstring", "faultcode", "fehler",
     "fehlermeldung", "erreur", "erro", "errore", "fout", "エラー", "오류", "错误", "錯誤")
)  # fmt: skip
_SUCCESS_KEYS = frozenset(
    ("success", "succeeded", "successful", "ok", "issuccess", "erfolg", "erfolgreich", "succès", "succes",
     "réussi", "exito", "éxito", "sucesso", "successo", "gelukt", "成功", "是否成功", "성공", "성공여부")
)  # fmt: skip
_STATUS_KEYS = frozenset(
    ("status", "state", "outcome", "statuscode", "statustext", "httpstatus", "httpstatuscode", "responsecode",
     "resultcode", "resultstatus", "callstatus", "requeststatus", "executionstatus", "operationstatus",
     "estado", "statut", "stato", "zustand", "状態", "状态", "상태")
)  # fmt: skip
_EXIT_KEYS = frozenset(
    ("exitcode", "exitstatus", "returncode", "retcode", "rc", "grpcstatus", "grpcstatuscode")
)
_FLAG_KEYS = frozenset(("failed", "isfailed", "hasfailed", "haserror", "haserrors"))
_MARK_KEYS = _ERROR_KEYS | _SUCCESS_KEYS | _STATUS_KEYS | _EXIT_KEYS | _FLAG_KEYS
TELLING_KEYS = _MARK_KEYS | {"message", "msg", "detail", "details", "reason", "description", "text", "title",
                              "code", "type", "timestamp", "requestid", "traceid", "hint"}  # fmt: skip
"""Keys that speak of the call. An object with another one is a record of something."""
_NO_ERROR = frozenset(
    ("", "0", "-", "none", "null", "false", "no", "ok", "n/a", "no error", "no errors", "none found",
     "success", "nein", "kein", "keine", "kein fehler", "keine fehler", "aucun", "aucune", "aucune erreur",
     "ninguno", "ninguna", "ningún error", "nenhum", "nenhum erro", "nessuno", "nessun errore", "geen",
     "なし", "無し", "無", "없음", "无", "沒有", "没有")
)  # fmt: skip
_GOOD_STATUS = frozenset(("success", "succeeded", "successful", "ok", "200", "201", "completed", "done"))
_BAD_WORDS = (
    "error|errored|unavailable|unsuccessful|fail|fails|failed|failing|failure|fatal|exception|crashed"
    "|forbidden|unauthori[sz]ed|unauthenticated|unimplemented|aborted|denied|declined|rejected|refused|nok"
    "|ko|time[d ]?[ _-]?out|not[ _-]?(?:found|ok|allowed|permitted|possible|processed|completed)"
    "|bad[ _-]?request|(?:deadline|quota|limit)[ _-]exceeded|resource[ _-]exhausted"
    r"|insufficient[ _-]\w+|out[ _-]of[ _-]stock|sold[ _-]out|not[ _-]available|already[ _-]exists"
    "|fehler|fehlgeschlagen|gescheitert|abgelehnt|erreur|échec|échoué|échouée|refusé|refusée|fallo|fallido|fallida"
    "|fallada|fracasado|rechazado|rechazada|denegado|denegada|erro|falha|falhou|recusado|recusada|errore|fallito"
    "|fallita|rifiutato|rifiutata|fout|mislukt|geweigerd|afgewezen"
)
_BAD_STATUS = re.compile(
    r"invalid\b.*|(?:(?!(?:no|not|non|never|without|0)[ _-])[^\W_]+[ _-]){0,3}"
    rf"(?:{_BAD_WORDS})(?:(?![ _-]free\b)[\W_].*)?"
    r"|[^没沒无無未]{0,9}(?:失敗|エラー|失败|错误|錯誤|실패|오류|에러|拒否|拒绝|拒絕|거부|거절)"
    r"(?:しました|됨|했습니다|되었습니다)?",
    re.DOTALL,
)
_BAD_CODE = re.compile(r"[45]\d\d\b.*")
_BAD_TYPE = re.compile(r"(?i:error|exception|failure)|[\w.#:/]*(?:Error|Exception|Fault)")
_BAD_STATE = re.compile(
    r"(?:[^\W_]+[ _-]){0,3}(?:fail(?:s|ed|ing|ure)?|declined|rejected|refused|denied|aborted|crashed"
    r"|unsuccessful|out[ _-]of[ _-]stock|sold[ _-]out|(?:not[ _-]|un)available|insufficient.*)"
)
"""Of the statuses of failure those that a thing may have, such as a payment that is looked up."""
_RPC_CODES = range(1, 17)


@lru_cache(maxsize=4096)
def plain_key(key: object) -> str:
    """Returns a key without its case and punctuation."""
    return re.sub(r"[\W_]", "", str(key)).lower()


def is_bad_status(text: str) -> bool:
    """Returns whether a text is a status of failure: `failed`, `payment_declined`, `fehlgeschlagen`."""
    return _BAD_STATUS.fullmatch(text.strip().casefold()) is not None


def states_failure(
    held: JsonObject, given: frozenset[str] = frozenset(), *, is_lookup: bool = False
) -> bool | None:
    """Returns whether the marks of an object state a failure; None: it has no mark that tells.

    Args:
        held: The object.
        given: Texts in lower case that are no failure as a status, because the call was about them.
        is_lookup: Whether the object answers a call that reads. The state of a record, such as a payment
            that was declined, is then what was asked for.
    """
    mark_keys, is_record = _marks_of(tuple(held))
    is_record = is_record and is_lookup
    marks: list[bool | None] = []
    for plain, key in mark_keys:
        value = held[key]
        if plain in _STATUS_KEYS:
            mark = True if isinstance(value, str) and value in _GOOD_STATUS else _status(value)
            if mark is False and isinstance(value, str):
                text = value.strip().casefold()
                mark = None if text in given or (is_record and _BAD_STATE.fullmatch(text)) else False
        elif plain in _SUCCESS_KEYS:
            mark = _is_true(value)
            mark = _status(value) if mark is None else mark
        elif plain in _EXIT_KEYS:
            is_number = not isinstance(value, bool) and re.fullmatch(r"-?\d{1,10}", str(value))
            mark = str(value) == "0" if is_number else None
        elif plain in _FLAG_KEYS:
            mark = False if _is_true(value) is True and not is_record else None
        elif value.strip().lower() not in _NO_ERROR if isinstance(value, str) else value:
            return True
        else:
            continue
        marks.append(mark)
    if False in marks or True in marks:
        return False in marks
    return _says_code(held, given) or None


def _says_code(held: JsonObject, given: frozenset[str]) -> bool:
    """Returns whether an object is an error by its type or code: an HTTP status with a message beside it."""
    code, of_type = held.get("code"), held.get("__type", held.get("type"))
    if isinstance(of_type, str) and _BAD_TYPE.fullmatch(of_type) and of_type.lower() not in given:
        return True
    if isinstance(code, str):
        return is_bad_status(code) and code.strip().casefold() not in given
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return is_status and any(
        isinstance(held.get(name), str) for name in ("message", "detail", "msg", "reason")
    )


@lru_cache(maxsize=4096)
def _marks_of(keys: tuple[str, ...]) -> tuple[Sequence[tuple[str, str]], bool]:
    """Returns the keys of an object that are marks, by their plain form, and whether it has other keys.

    Objects have few different sets of keys. Of keys with the same plain form the last one counts.
    """
    plain = [plain_key(key) for key in keys]
    marks = {name: key for name, key in zip(plain, keys, strict=True) if name in _MARK_KEYS}
    return [*marks.items()], not all(name in TELLING_KEYS for name in plain)


def _is_true(value: JsonValue) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in ("true", "yes", "1") else False if text in ("false", "no", "0") else None
    return bool(value) if isinstance(value, bool | int | float) else None


def _status(value: JsonValue) -> bool | None:
    """Returns whether a status means success; None: neither (`cancelled` is the state of a resource)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):  # {"state": "error"}; Google's Status: {"code": 7, "message": "..."}
        failed = states_failure(value) or ("message" in value and value.get("code") in _RPC_CODES)
        return False if failed or _status(value.get("phase")) is False else None
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if text in _GOOD_STATUS:
        return True
    return False if is_bad_status(text) or _BAD_CODE.fullmatch(text) else None
