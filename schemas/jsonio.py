"""Writes JSON, and reads JSON in texts of logs; names in one line, and items by key."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

import msgspec
import orjson
from pydantic_core import from_json, to_json

JsonValue: TypeAlias = Any
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object."""

_GroupKey = TypeVar("_GroupKey")
_Grouped = TypeVar("_Grouped")
_SHOWN = 80


def no_items() -> list[Any]:
    """Returns an empty list, as the default of a pydantic field."""
    # Pydantic inspects the factory of a default for every field, which takes 20 times as long for `list`.
    return []


def short_repr(value: object, most: int = 60) -> str:
    """Returns the representation of a value, cut after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def shown(value: JsonValue) -> str:
    """Returns a short text of a JSON value for messages, without the contents of lists and objects."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


_FAULTS = {
    "missing": "is missing",
    "extra_forbidden": "unknown field",
    **dict.fromkeys(("model_type", "dict_type", "model_attributes_type"), "a JSON object is needed"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list is needed, in [ ]"),
    "string_type": "a text is needed",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is needed"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is needed"),
    "finite_number": "a finite number is needed",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "greater_than": "must be above {gt:g}",
    "less_than": "must be below {lt:g}",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}, not '{tag}'",
}
_WITHOUT_INPUT = ("missing", "extra_forbidden", "string_pattern_mismatch", "union_tag_invalid")
"""Faults of nothing, of what may be a key, and of what is named already."""


def fault_text(fault: Mapping[str, Any]) -> str:
    """Returns one of pydantic's errors in plain words, with what stands there if that is in it."""
    kind, message, context = fault["type"], str(fault["msg"]), fault.get("ctx", {})
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "string_too_short":
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} characters"
    if kind not in _FAULTS:
        return message
    is_shown = "input" in fault and kind not in _WITHOUT_INPUT
    return _FAULTS[kind].format_map(context) + (f", not {shown(fault['input'])}" if is_shown else "")


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Returns ` (did you mean NAME?)` for a similar known name, by difflib's ratio (0..1); else nothing."""
    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f" (did you mean {near[0]}?)" if near else ""


def listed(names: Sequence[str], most: int = 5, number: int | None = None, mark: str = ", ") -> str:
    """Returns the first names in one line, and how many of the whole `number` (all given) are left out."""
    more = (len(names) if number is None else number) - len(names[:most])
    return mark.join(names[:most]) + (f"{mark.strip(', ')} and {more} more" if more > 0 else "")


def counted(number: int, noun: str, form: str = "") -> str:
    """Returns a number with its noun, or A or B, plural unless the number is 1; `form` is of the number."""
    return f"{number:{form}} {noun if number == 1 else noun.replace(' or ', 's or ') + 's'}"


def grouped(pairs: Iterable[tuple[_GroupKey, _Grouped]]) -> dict[_GroupKey, list[_Grouped]]:
    """Returns the items of every key, both in the order in which they come."""
    groups: dict[_GroupKey, list[_Grouped]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def dump_json(value: JsonValue) -> bytes:
    """Returns UTF-8 JSON; supports integers of any size; non-finite numbers become null."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return to_json(value, inf_nan_mode="null")


def indented_json(value: object) -> str:
    """Returns a struct, or what else is JSON, as lines for people."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def load_json(text: bytes) -> Any:
    """Parses UTF-8 JSON as `json.loads` does, in about half of its time on rows; raises ValueError."""
    try:
        return from_json(text)
    except ValueError:  # unpaired surrogates, and what is nested deeply
        return json.loads(text)


def json_value(text: bytes) -> JsonValue:
    """Parses the JSON of a record; raises ValueError, which says that it is none."""
    try:
        return from_json(text)
    except ValueError as error:
        # The line is one of the record, not of the file.
        step = "; remove the comma at its end" if text.rstrip().endswith(b"},") else ""
        raise ValueError(f"cannot be parsed as JSON: {str(error).replace(' line 1 ', ' ')}{step}") from None


_LEGACY = re.compile(rb"(?<![\x80-\xff])[\x80-\xff]{1,2}(?![\x80-\xff])")


def no_utf8(text: bytes) -> ValueError | None:
    """Returns the error of a text that is no UTF-8, with its likely encoding; None: it is UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        foreign = text.translate(None, bytes(range(0x80)))
        if len(b"".join(_LEGACY.findall(text))) < len(foreign):
            likely = "damaged, or of another encoding, such as Shift_JIS, GB18030 or Windows-1251"
            source = "ENCODING"
        else:  # letters with accents stand alone between ASCII ones
            source = "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for byte in foreign) else "ISO-8859-1"
            likely = f"likely {source}"
        where = f"byte 0x{text[error.start]:02x} at offset {error.start}"
        remedy = f"convert it, such as with iconv -f {source} -t UTF-8"
        return ValueError(f"the text is no UTF-8 ({where}), but {likely}: {remedy}")
    return None


def unique_pairs(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """Returns the object of pairs, for `object_pairs_hook`; raises ValueError if a key stands in it twice."""
    unique = dict(pairs)
    if len(unique) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"duplicate key {next(key for key in counts if counts[key] > 1)!r}")
    return unique


def json_structure(text: str, *, allow_nan: bool = True) -> JsonObject | list[JsonValue] | None:
    """Returns the object or list that a text spells in JSON; None: it is any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: JsonObject | list[JsonValue] = from_json(text, allow_inf_nan=allow_nan)
    except ValueError:
        return None
    return value


def key_twice(text: bytes, value: JsonValue) -> str | None:
    """Returns a key that an object of a JSON text states twice, with different values; None: none."""
    # Parsers keep the last one. The text is parsed again only if it has more colons than its value has.
    twice: list[str] = []

    def object_of(pairs: list[tuple[str, Any]]) -> JsonObject:
        unique = dict(pairs)
        twice.extend(key for key, item in pairs if len(unique) < len(pairs) and item != unique[key])
        return unique

    with suppress(ValueError, RecursionError):
        if text.count(b":") != dump_json(value).count(b":"):
            json.loads(text, object_pairs_hook=object_of, parse_int=str, parse_float=str)
    return next(iter(twice), None)


_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)+//")


def is_local(path: str) -> bool:
    """Returns whether a path is no URL (`gs://...`, `parquet:gs://...`); `./gs://x` is a path."""
    return not _URL.match(path)


SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg", "postgres")
"""Schemes of the addresses of stores."""

_PASSWORD = re.compile(r"(?<=://)([^:@/?]*):.*(?=@)")
_SECRETS = re.compile(
    r"([?&](?:password|passfile|sslpassword|token|access_token|api_?key|key|sig|signature|secret)=)(?:[^&\s\"']*[^&\s\"':;,.)])?",
    re.IGNORECASE,
)
_PASSWORD_IN_TEXT = re.compile(r"(?<=://)([^:@/?\s\"']*):(?!\d*[/?])[^\s\"']*(?=@)")


def is_store_url(text: str) -> bool:
    """Returns whether a text is the URL of a store or another database, with any driver, not a path."""
    return text.partition(":")[0].partition("+")[0].lower() in SCHEMES and ":/" in text


def is_sqlite_url(text: str) -> bool:
    """Returns whether a text is the URL of a SQLite file."""
    return is_store_url(text) and text.lower().startswith("sqlite")


def is_postgresql_url(text: str) -> bool:
    """Returns whether a text is the URL of a PostgreSQL database."""
    return is_store_url(text) and not is_sqlite_url(text)


def shown_url(url: str) -> str:
    """Returns a URL with its password replaced."""
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***", url))


def without_passwords(text: str) -> str:
    """Returns a message with the passwords of the URLs in it replaced."""
    return _SECRETS.sub(r"\1***", _PASSWORD_IN_TEXT.sub(r"\1:***", text)) if "://" in text else text
