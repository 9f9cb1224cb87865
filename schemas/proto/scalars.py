"""Reads scalars of proto3 JSON (numbers, bytes, times, field masks) into one canonical form.

Strict readers accept the proto3 JSON mapping; lenient ones also accept the input of Python's protobuf parser.
All raise ValueError. Times remain texts: a timestamp in UTC (`Z`), a duration in seconds (`s`), both
with 0, 3, 6 or 9 fraction digits, the fewest that fit.
"""

import base64
import math
import re
import struct
from datetime import date
from functools import lru_cache

from turnwise.schemas.jsonio import JsonValue, shown

_BILLION = 1_000_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MAX_DURATION_SECONDS = 315_576_000_000
_DIGITS = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_BASE64 = re.compile(r"([A-Za-z0-9+/_-]*)(={0,2})")
_PATHS = re.compile(r"\*|[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)*(,[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)*)*|")
_CANONICAL_TIMESTAMP = re.compile(
    r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.([0-9]{3}){0,2}(?!000)[0-9]{3})?Z"
)
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_LOOSE_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})T([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{0,9}))?"
    r"(?:Z|([+-])([0-9]{1,2}):([0-9]{1,2}))"
)
_CANONICAL_DURATION = re.compile(r"(?!-0s)-?(0|[1-9][0-9]{0,10})(\.([0-9]{3}){0,2}(?!000)[0-9]{3})?s")
_DURATION = re.compile(r"(-?)([0-9]+)(?:\.([0-9]{1,9}))?s")
_LOOSE_DURATION = re.compile(r"\s*([+-]?)([0-9]+)\s*(?:\.([0-9]*))?s")


def read_int(value: JsonValue, lenient: bool = False, bits: int = 32) -> int:
    """Parses a signed integer of `bits` bits from a JSON number or a numeric string; raises ValueError."""
    number = value
    if isinstance(value, str) and (_NUMBER.fullmatch(value) or (lenient and " " not in value)):
        try:
            number = int(value)
        except ValueError:
            exact = _float_text(value, lenient)
            number = int(exact) if exact is not None and exact.is_integer() else None
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if type(number) is not int:
        raise ValueError(f"{shown(value)} is not an integer")
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{shown(value)} is out of the range of an int{bits}")
    return number


def read_enum_number(value: JsonValue, lenient: bool = False) -> int:
    """Parses an int32 from an integer or a string of digits; raises ValueError."""
    if isinstance(value, str) and (lenient or _DIGITS.fullmatch(value)):
        value = int(value)
    if lenient and isinstance(value, bool | float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a number")
    return read_int(value)


def _float_text(text: str, lenient: bool) -> float | None:
    if text in _NON_FINITE:
        return _NON_FINITE[text]
    if not (_NUMBER.fullmatch(text) or (lenient and text != "nan")):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def read_double(value: JsonValue, lenient: bool = False) -> float:
    """Parses a double from a number, a numeric text, "NaN", "Infinity" or "-Infinity"; raises ValueError."""
    number: float | None = None
    if isinstance(value, str):
        number = _float_text(value, lenient)
    elif isinstance(value, int | float) and (lenient or not isinstance(value, bool)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if number is None:
        raise ValueError(f"{shown(value)} is not a number")
    if not math.isfinite(number) and (not isinstance(value, str) or not (lenient or value in _NON_FINITE)):
        raise ValueError(f"{shown(value)} is too large, or no JSON number (write it as a string)")
    return number


def float32(x: float) -> float:
    """Returns the shortest decimal of the float32 nearest to `x`, as protobuf has it; raises ValueError."""
    return float(x) if x == 0 or not math.isfinite(x) else _shortest_float32(x)


@lru_cache(maxsize=16_384)
def _shortest_float32(x: float) -> float:
    try:
        packed = struct.pack("<f", x)
    except OverflowError:
        raise ValueError(f"{x!r} is out of the range of a float32") from None
    exact: float = struct.unpack("<f", packed)[0]
    decimals = (float(f"{exact:.{digits}g}") for digits in range(6, 9))
    return next((short for short in decimals if _rounds_to(short, packed)), float(f"{exact:.9g}"))


def _rounds_to(decimal: float, packed: bytes) -> bool:
    try:
        return struct.pack("<f", decimal) == packed
    except OverflowError:
        return False


def read_bytes(value: JsonValue, lenient: bool = False) -> str:
    """Returns base64 of either alphabet, padded or not, as standard one with padding; raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not base64")
    match = _BASE64.fullmatch(value)
    padded = match and (not match[2] or len(value) % 4 == 0) and len(match[1]) % 4 != 1
    if not padded and not lenient:
        raise ValueError(f"{shown(value)} is not base64")
    data = value.encode()
    return base64.b64encode(base64.urlsafe_b64decode(data + b"=" * (4 - len(data) % 4))).decode()


def read_field_mask(value: JsonValue, lenient: bool = False) -> str:
    """Returns a field mask (lowerCamelCase paths between commas, `*`, or nothing); raises ValueError."""
    if not isinstance(value, str) or not (_PATHS.fullmatch(value) or (lenient and "_" not in value)):
        raise ValueError(f"{shown(value)} is not a field mask (lowerCamelCase paths, comma separated)")
    return value


def read_timestamp(value: JsonValue, lenient: bool = False) -> str:
    """Returns the canonical text of an RFC 3339 timestamp (`T`, `Z` or `+hh:mm`); raises ValueError."""
    if isinstance(value, str) and _CANONICAL_TIMESTAMP.fullmatch(value):
        return value
    form = _LOOSE_TIMESTAMP if lenient else _TIMESTAMP
    match = _matched(value, form, "a timestamp (RFC 3339, as 2026-01-02T03:04:05Z)")
    return nanos_timestamp(_timestamp_nanos(match))


def timestamp_nanos(text: str) -> int:
    """Returns nanoseconds since 1970-01-01T00:00:00Z of an RFC 3339 timestamp; raises ValueError."""
    return _timestamp_nanos(_matched(text, _TIMESTAMP, "a timestamp"))


def _matched(value: JsonValue, form: re.Pattern[str], what: str) -> re.Match[str]:
    match = form.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{shown(value)} is not {what}")
    return match


def _timestamp_nanos(match: re.Match[str]) -> int:
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    hours, minutes, seconds = int(hour), int(minute), int(second)
    offset = int(offset_hours) * 60 + int(offset_minutes) if sign else 0
    if hours > 23 or minutes > 59 or seconds > 59 or offset >= 1440:
        raise ValueError(f"{shown(match.string)} is not a time of day")
    minutes += hours * 60 + (offset if sign == "-" else -offset)
    nanos = int(fraction.ljust(9, "0")) if fraction else 0
    return (_days(year, month, day) * 86_400 + minutes * 60 + seconds) * _BILLION + nanos


@lru_cache(maxsize=1024)
def _days(year: str, month: str, day: str) -> int:
    return date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY


def nanos_timestamp(n: int) -> str:
    """Returns the timestamp `n` nanoseconds after 1970; raises ValueError outside of the years 1 to 9999."""
    seconds, nanos = divmod(n, _BILLION)
    return f"{_second(seconds)}{_fraction(nanos)}Z"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    days, clock = divmod(seconds, 86_400)
    try:
        day = date.fromordinal(days + _EPOCH_DAY).isoformat()
    except (ValueError, OverflowError):
        raise ValueError("a timestamp lies between the years 1 and 9999") from None
    return f"{day}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"


def _fraction(nanos: int) -> str:
    digits = f"{nanos:09}".removesuffix("000").removesuffix("000").removesuffix("000")
    return digits and f".{digits}"


def read_duration(value: JsonValue, lenient: bool = False) -> str:
    """Returns the canonical text of a duration like "3.5s", up to 315576000000 seconds; raises ValueError."""
    if isinstance(value, str) and _CANONICAL_DURATION.fullmatch(value):
        return value
    form = _LOOSE_DURATION if lenient else _DURATION
    return nanos_duration(_duration_nanos(_matched(value, form, "a duration (seconds, as 3.500s)")))


def duration_nanos(text: str) -> int:
    """Returns the nanoseconds of a duration like "3.500s"; raises ValueError."""
    return _duration_nanos(_matched(text, _DURATION, "a duration"))


def _duration_nanos(match: re.Match[str]) -> int:
    sign, digits, fraction = match.groups()
    seconds = int(digits)
    if seconds > _MAX_DURATION_SECONDS:
        raise ValueError(f"{shown(match.string)} is longer than {_MAX_DURATION_SECONDS} seconds")
    nanos = seconds * _BILLION + int((fraction or "")[:9].ljust(9, "0"))
    return -nanos if sign == "-" else nanos


def nanos_duration(n: int) -> str:
    """Returns the canonical duration of `n` nanoseconds."""
    seconds, nanos = divmod(abs(n), _BILLION)
    return f"{'-' if n < 0 else ''}{seconds}{_fraction(nanos)}s"
