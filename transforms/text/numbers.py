"""Reads numbers, dates and times as comparable keys, in any format and script.

Keys: `#1200` is a number, `#m3` a month, `#m3d5` a day of a month, `#t900` a time in minutes after midnight.
An ambiguous text (`1.200`, `03/05/2024`) has one key per reading.
"""

import re
import unicodedata
from typing import NamedTuple

Keys = tuple[str, ...]

_SEPARATORS = ".,٬٫．，'’"
SCALES = {
    "k": 3,
    **dict.fromkeys(("thousand", "tausend", "mille", "mil", "千", "천"), 3),
    **dict.fromkeys(("万", "萬", "만"), 4),
    **dict.fromkeys(("million", "millionen", "millions", "millones", "millón"), 6),
    **dict.fromkeys(("億", "亿", "억"), 8),
    **dict.fromkeys(("billion", "milliarden", "milliarde", "milliards", "milliard"), 9),
    **dict.fromkeys(("兆", "조"), 12),
}
"""Scale word -> power of ten."""
TIME_OF_A_HALF = (
    r"(?:午前|午後|上午|下午|오전|오후)\s?\d{1,2}(?::\d\d|\s?[時时点시](?![間间간])(?:\s?\d{1,2}\s?[分분])?)"
)
"""Regular expression of times such as `午後3時`, which `read_numeral` reads as well."""
_AFTER_NOON = ("午後", "下午", "오후")
_SCALE_WORDS = "|".join(name for name in SCALES if len(name) > 1)

NUMERAL = (
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:T(?=\d)|(?![\d-]))"
    r"|\d{1,2}\.\d{1,2}\.(?!\d)"
    r"|\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp]\.?[Mm]\b)?"
    r"|\d{1,2}\s?[AaPp]\.?[Mm]\b"
    r"|\d{1,2}\s?(?:[時时点시](?![間间간])(?:\s?\d{1,2}\s?[分분])?|Uhr\b(?:\s?\d\d\b)?|h\d\d\b)"
    r"|\d{1,4}\s?[万萬만]\s?\d{1,4}(?:\s?[千천])?(?![\d,.])"
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"
    rf"|\d{{1,64}}(?:[{_SEPARATORS}]\d{{1,64}}|[\u00a0\u2009\u202f]\d{{3}}(?!\d)){{0,7}}(?:\s?(?:[万萬만億亿억兆조千천]|(?i:{_SCALE_WORDS})\b)|[kK]\b)?"
)
"""Regular expression of the numerals that `read_numeral` reads."""

_DIGITS = re.compile(r"\d+")
_NO_DIGITS = re.compile(r"\D+")
_HOUR_MARK = re.compile(r"[時时点시]|uhr|h\d")
_CLOCK = re.compile(r"(\d{1,2})(?::([0-5]\d))?(?::\d\d)?\s?(?:([ap])\.?m)?", re.IGNORECASE)
_TEN_THOUSANDS = re.compile(r"(\d{1,4})\s?[万萬만]\s?(\d{1,4})(\s?[千천])?")
_DATE_IN_DIGITS = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_SCALED = re.compile(r"(.*?)\s?([^\W\d]+)")
_MINUTES_OF_HALF_A_DAY = 720


class Numeral(NamedTuple):
    """Keys of a numeral.

    Attributes:
        demands: Required keys if it is claimed: the evidence must hold at least one key of every tuple.
        keys: Keys that it provides as evidence.
        parts: Keys for comparing it with other numerals.
    """

    demands: tuple[Keys, ...]
    keys: Keys
    parts: Keys


def read_numeral(token: str) -> Numeral:
    """Reads a text that `NUMERAL` or `TIME_OF_A_HALF` matches."""
    text = with_ascii_digits(token).lower()
    groups = _DIGITS.findall(text)
    if not text[0].isdecimal():
        return _read_clock(_clock(groups) + ("pm" if text.startswith(_AFTER_NOON) else "am"))
    if ":" in text or text.endswith("m"):
        return _read_clock(text)
    if ten_thousands := _TEN_THOUSANDS.fullmatch(text):
        rest = int(ten_thousands[2]) * (1000 if ten_thousands[3] else 1)
        return _read_number(str(int(ten_thousands[1]) * 10_000 + rest))
    if _HOUR_MARK.search(text):
        return _read_clock(_clock(groups))
    if "月" in text or "월" in text:
        return _date([tuple(map(int, groups[-2:]))], groups[:-2])
    if text.endswith("."):  # `05.03.` may also be a number at the end of a sentence
        number, day = _read_number(text[:-1]), _date([(int(groups[1]), int(groups[0]))], [])
        if not _is_day(int(groups[1]), int(groups[0])):
            return number
        return Numeral(((*day.demands[0], *number.keys),), day.keys + number.keys, day.parts)
    if _DATE_IN_DIGITS.fullmatch(text):  # `20260314` may also be a number
        number, date = _read_number(text), _date([(int(text[4:6]), int(text[6:]))], [text[:4]])
        demands = tuple((*keys, *number.keys) for keys in date.demands)
        return Numeral(demands, number.keys + date.keys, number.parts)
    days, years = _days(text, groups)
    return _date(days, years) if days else _read_number(text)


def _clock(groups: list[str]) -> str:
    return ":".join([groups[0], *(minute.zfill(2) for minute in groups[1:])])


def with_ascii_digits(token: str) -> str:
    """Writes the decimal digits of any script as 0 to 9."""
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in token)


def _read_clock(text: str) -> Numeral:
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return _read_number(text)
    hour, minute, half = int(clock[1]), int(clock[2] or 0), clock[3]
    if half:
        hour = hour % 12 + 12 * (half == "p")
    minutes = 60 * hour + minute
    exact = f"#t{minutes}"
    hours = (f"#{hour}",) if minute == 0 else ()
    late = (f"#t{minutes + _MINUTES_OF_HALF_A_DAY}",) if not half and text[0] != "0" and 0 < hour < 12 else ()
    full_hour = (f"#{int(clock[1])}",) if minute == 0 else ()
    return Numeral(((exact, *late, *hours),), (exact, *dict.fromkeys(hours + full_hour)), (exact,))


def _days(text: str, groups: list[str]) -> tuple[list[tuple[int, ...]], list[str]]:
    """Returns all readings of month and day of a date, the likelier first, and its year."""
    if len(groups) != 3 or not any(mark in text for mark in "-/."):
        return [], []
    if len(groups[0]) == 4:
        year, readings = groups[0], [(int(groups[1]), int(groups[2]))]
    elif len(groups[2]) == 4 and len(groups[0]) < 3:
        first, second, year = int(groups[0]), int(groups[1]), groups[2]
        readings = [(first, second), (second, first)] if "/" in text else [(second, first), (first, second)]
    else:
        return [], []
    return [day for day in dict.fromkeys(readings) if _is_day(*day)], [year]


def _is_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _date(days: list[tuple[int, ...]], years: list[str]) -> Numeral:
    keys = tuple(f"#{int(year)}" for year in years)
    exact = tuple(day_key(*day) for day in days)
    parts = [key for month, day in days for key in (month_key(month), f"#{day}")]
    return Numeral((exact, *((year,) for year in keys)), (*exact, *parts, *keys), (*parts[:2], *keys))


def month_key(month: int) -> str:
    """Returns the key of a month, 1..12."""
    return f"#m{month}"


def day_key(month: int, day: int) -> str:
    """Returns the key of a day of a month."""
    return f"{month_key(month)}d{day}"


def _read_number(text: str) -> Numeral:
    scale, scaled = 0, _SCALED.fullmatch(text)
    if scaled and scaled[2] in SCALES:
        text, scale = scaled[1], SCALES[scaled[2]]
    demands = tuple(
        tuple(_number_key(whole, fraction, scale) for whole, fraction in readings)
        for readings in _numbers(_DIGITS.findall(text), _NO_DIGITS.findall(text))
    )
    keys = tuple(key for readings in demands for key in readings)
    return Numeral(demands, keys, tuple(readings[0] for readings in demands))


def _number_key(whole: str, fraction: str, scale: int) -> str:
    fraction = fraction.ljust(scale, "0")
    whole, fraction = (whole + fraction[:scale]).lstrip("0"), fraction[scale:].rstrip("0")
    return f"#{whole or 0}.{fraction}" if fraction else f"#{whole or 0}"


def _numbers(runs: list[str], marks: list[str]) -> list[list[tuple[str, str]]]:
    """Joins runs of digits; returns for every number its readings as (whole, fraction)."""
    if not marks:
        return [[(runs[0], "")]]
    is_grouped = len(runs[0]) <= 3 and runs[0] != "0" and all(len(run) == 3 for run in runs[1:-1])
    grouped, one_mark = ("".join(runs), ""), len(set(marks)) == 1
    if is_grouped and len(marks) > 1 and marks[-1] not in marks[:-1]:
        return [[("".join(runs[:-1]), runs[-1])]]
    if is_grouped and one_mark and len(runs[-1]) == 3:
        return [[grouped, (runs[0], runs[1])]] if len(runs) == 2 else [[grouped]]
    return [[(runs[0], runs[1])]] if len(runs) == 2 else [[(run, "")] for run in runs]
