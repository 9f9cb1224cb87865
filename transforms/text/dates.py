"""Reads dates and times in the spellings that tool arguments use."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from turnwise.transforms.text.function_words import MONTHS

_LONGEST = 48
_FIRST_SECONDS, _FIRST_MILLISECONDS = 1e9, 1e10
_TIME = re.compile(
    r"(?:^|[t\s,])(?:at )?(\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?\s?(?:([ap])\.?m\.?)?"
    r"\s?(z|utc|gmt|[+-]\d\d:?\d\d)?$"
)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{4})(\d\d)(\d\d)")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|[2-4]\d)")
_IN_CHARACTERS = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_IN_WORDS = re.compile(
    r"(?:[^\W\d_]+,? )?(?:(\d{1,2})(?:st|nd|rd|th|\.)?[- ](?:of )?([^\W\d_]+)"
    r"|([^\W\d_]+)\.? (\d{1,2})(?:st|nd|rd|th)?),?[- ](\d{4})"
)


class DateReading(NamedTuple):
    """A day, a time of day, or both.

    Attributes:
        offset: Offset from UTC in minutes, positive to the east; None: local time.
    """

    day: date | None
    clock: time | None
    offset: int | None

    @property
    def key(self) -> tuple[str, str]:
        """Key that only equal readings share."""
        instant = self.instant
        if instant is not None:
            return "moment", str(instant.timestamp())
        return "moment", str((self.day, self.clock or (time() if self.day else None)))

    @property
    def instant(self) -> datetime | None:
        """The point in time; None without day, time and offset."""
        if self.day is None or self.clock is None or self.offset is None:
            return None
        zone = timezone(timedelta(minutes=self.offset))
        return datetime.combine(self.day, self.clock, zone)


def read_dates(text: str) -> tuple[DateReading, ...]:
    """Reads a text that holds only a date, a time of day or both.

    ISO 8601, `2024/05/20`, `20.05.2024`, `05/20/2024`, `May 20, 2024`, `20 May 2024`, `2024년 5월 20일`; with
    `T10:00`, `10:00:30`, `10 am`, `Z`, `+02:00`.

    Returns:
        All readings: two if the order of day and month is ambiguous; empty if it is no date or time.
    """
    return _read(text) if len(text) <= _LONGEST and any(map(str.isdigit, text)) else ()


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[DateReading, ...]:
    lower = " ".join(text.lower().split())
    days = _days(lower)
    if days:
        return tuple(DateReading(day, None, None) for day in days)
    found = _TIME.search(lower)
    if found is None or not (found[2] or found[4]):
        return ()
    clock, rest = _clock(found), lower[: found.start()].rstrip(" ,")
    readings: tuple[date | None, ...] = _days(rest) if rest else (None,)
    return tuple(DateReading(day, clock, _offset(found[5])) for day in readings) if clock else ()


def epoch_date(number: float) -> tuple[DateReading, ...]:
    """Reads a number as seconds or milliseconds since 1970, from 2001 to 2286; empty: out of range."""
    seconds = number / 1000 if number >= _FIRST_MILLISECONDS else number
    if not _FIRST_SECONDS <= seconds < _FIRST_MILLISECONDS:
        return ()
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return (DateReading(moment.date(), moment.time(), 0),)


def same_date(left: tuple[DateReading, ...], right: tuple[DateReading, ...]) -> bool:
    """Returns whether two texts have a common reading: the same instant, or the same local day and time.

    A day without a time is read as midnight. If only one side has an offset, local times are compared.
    """
    return any(_same(a, b) for a in left for b in right)


def _same(left: DateReading, right: DateReading) -> bool:
    first, second = left.instant, right.instant
    if first is not None and second is not None:
        return first == second
    midnight = time() if left.day or right.day else None
    return left.day == right.day and (left.clock or midnight) == (right.clock or midnight)


def _days(text: str) -> tuple[date, ...]:
    found = _YEAR_FIRST.fullmatch(text)
    if found:
        return _valid([(found[1] or found[5], found[3] or found[6], found[4] or found[7])])
    found = _YEAR_LAST.fullmatch(text)
    if found:
        year = found[4] if len(found[4]) == 4 else f"20{found[4]}"
        return _valid([(year, found[1], found[3]), (year, found[3], found[1])])
    found = _IN_CHARACTERS.fullmatch(text)
    if found:
        return _valid([(found[1], found[2], found[3])])
    found = _IN_WORDS.fullmatch(text)
    if found:
        return _valid([(found[5], MONTHS.get(found[2] or found[3], 0), found[1] or found[4])])
    return ()


def _valid(readings: list[tuple[str, str | int, str]]) -> tuple[date, ...]:
    days: list[date] = []
    for year, month, day in readings:
        try:
            days.append(date(int(year), int(month), int(day)))
        except ValueError:
            continue
    return tuple(dict.fromkeys(days))


def _clock(found: re.Match[str]) -> time | None:
    hour, half = int(found[1]), found[4]
    if half:
        hour = hour % 12 + 12 * (half == "p") if 1 <= hour <= 12 else 24
    try:
        return time(hour, int(found[2] or 0), int(found[3] or 0))
    except ValueError:
        return None


def _offset(text: str | None) -> int | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return 0
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return None if minutes >= 24 * 60 else -minutes if text[0] == "-" else minutes
