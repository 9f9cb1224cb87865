"""Compares the dates, weekdays and times of day that an agent states with those of a call."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple
from unicodedata import normalize

from turnwise.transforms.effects.call_values import ValueVerdict, is_plain_word
from turnwise.transforms.text.dates import read_dates
from turnwise.transforms.text.function_words import MONTHS, word_set
from turnwise.transforms.text.numbers import with_ascii_digits
from turnwise.transforms.text.values import plain
from turnwise.transforms.text.weekdays import WEEKDAY_CHARACTERS, WEEKDAY_IN_CHARACTERS, WEEKDAYS, weekdays_in

_SHORT_WEEKDAYS = (
    *("mon tue wed thu fri sat sun", "- tues - thur - - -", "- - - thurs - - -"),
    *("mo di mi do fr sa so", "lun - mer jeu ven sam dim", "- - mié jue vie sáb dom"),
)
_WEEKDAYS = {
    **WEEKDAYS,
    **WEEKDAY_CHARACTERS,
    **{name: day for names in _SHORT_WEEKDAYS for day, name in enumerate(names.split()) if name != "-"},
}
_MONTH = "|".join(sorted(map(re.escape, MONTHS), key=len, reverse=True))
_AFTER_NOON = ("p", "午後", "下午", "오후")
_DATES = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\d/.-])(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?:t(?=\d)|(?![\d/-]))",
        r"(?<![\d/.-])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?!\d)",
        r"(?<![\d/.-])(?P<a>\d{1,2})([/-])(?P<b>\d{1,2})(?:\2(?P<y>\d{4}))?(?![\d/-])",
        r"(?<![\d/.-])(?:(?P<m>\d{1,2})[/.](?P<y>\d{4})|(?P<y2>\d{4})[-/](?P<m2>\d{1,2}))(?![\d/.-])",
        r"(?:(?P<y>\d{4})\s?[年년]\s?)?(?P<m>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日일])?",
        r"(?<!\w)(?:(?P<d>\d{1,2})(?:st|nd|rd|th|er|[.ºª])?(?: of| de)?[\s-]+)?"
        rf"(?P<name>{_MONTH})(?![^\W_])\.?"
        r"(?:[\s-]+(?:the )?(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?![\d:.]|\s?(?:[ap]\.?m|uhr|h\b)))?"
        r"(?:,?[\s-]+(?:del? )?(?P<y>\d{4})(?!\d))?",
        r"\bthe (?P<d>\d{1,2})(?:st|nd|rd|th)\b",
    )
]
_TIMES = [
    re.compile(pattern)
    for pattern in (
        r"(?P<half>午前|午後|上午|下午|오전|오후)?\s?(?P<h>\d{1,2})\s?[時时点시](?![間间간])"
        r"(?:\s?(?:(?P<n>\d{1,2})\s?[分분]|(?P<thirty>[半반])))?",
        r"(?P<half>午前|午後|上午|下午|오전|오후)?\s?(?<![\d:.])(?P<h>\d{1,2}):(?P<n>\d\d)(?::00)?(?![:\d])"
        r"(?:\s?(?P<half2>[ap])\.?m\b\.?)?(?:\s?uhr\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})\s?(?P<half>[ap])\.?m\b\.?",
        r"(?<![\d:.])(?P<h>\d{1,2})(?:\.(?P<n>\d\d))?\s?uhr\b(?:\s?(?P<n2>\d\d)\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})\s?h(?:\s?(?P<n>\d\d))?\b",
    )
]
_REST = re.compile(r"[^\W\d_]+|\d+|[^\s\w.,:;!?'\"“”’()·*-]")
_BESIDE = word_set("next this coming nächsten kommenden day date time o'clock today's uhr el le la om in at")


class Moment(NamedTuple):
    """What a text states of a day and a time; several readings where it is ambiguous.

    Attributes:
        years: Year; empty: none.
        days: Readings as (month, day); 0: not stated.
        minutes: Readings of the time in minutes after midnight, as it is written first.
        weekdays: Weekdays, 0..6.
        is_whole: Whether all words of the text are read.
        has_offset: Whether the time has an offset from UTC, so that it is another one elsewhere.
    """

    years: tuple[int, ...]
    days: tuple[tuple[int, int], ...]
    minutes: tuple[int, ...]
    weekdays: frozenset[int]
    is_whole: bool
    has_offset: bool = False


def read_moment(text: str, path: str = "") -> Moment:
    """Reads a text such as `Sat, 14 March 2026 at 3:30 pm`; with dots, the day comes before the month."""
    day, rest = _cut(normalize("NFKC", with_ascii_digits(text)).lower(), _DATES)
    clock, rest = _cut(rest, _TIMES)
    years, days = _day(day)
    minutes = _minutes(clock)
    left, weekdays = _REST.findall(rest), weekdays_in(rest)
    if any(one for _, one in days):
        weekdays |= {_WEEKDAYS[word] for word in left if word in _WEEKDAYS}
    is_read = all(
        word in _BESIDE or is_plain_word(word, path) or bool(weekdays and _is_weekday(word)) for word in left
    )
    is_valid = bool(days or not day) and bool(minutes or not clock) and len(weekdays) < 2
    return Moment(years, days, minutes, frozenset(weekdays), is_read and is_valid)


def _is_weekday(word: str) -> bool:
    return word in _WEEKDAYS or re.fullmatch(WEEKDAY_IN_CHARACTERS, word) is not None


def _cut(text: str, patterns: list[re.Pattern[str]]) -> tuple[dict[str, str], str]:
    """Returns the groups of the first pattern that is found, and the text without it."""
    for pattern in patterns:
        found = pattern.search(text)
        if found:
            groups = {name: value for name, value in found.groupdict().items() if value}
            return groups, f"{text[: found.start()]} {text[found.end() :]}"
    return {}, text


def _day(found: dict[str, str]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Returns the year, and the readings of month and day; none if there are two days or none is valid."""
    if not found:
        return (), ()
    year, days = found.get("y") or found.get("y2"), [found[key] for key in ("d", "d2") if key in found]
    if "a" in found:
        first, second = int(found["a"]), int(found["b"])
        readings = [(first, second), (second, first)]
    else:
        month = MONTHS[found["name"]] if "name" in found else int(found.get("m") or found.get("m2") or 0)
        readings = [(month, int(days[0]) if days else 0)]
    valid = [(month, day) for month, day in readings if month <= 12 and day <= 31 and len(days) < 2]
    return (int(year),) if year else (), tuple(dict.fromkeys(valid))


def _minutes(found: dict[str, str]) -> tuple[int, ...]:
    """Returns the readings of a time, as it is written first; empty: there is none, or none is valid."""
    hour = int(found.get("h", 99))
    minute = 30 if "thirty" in found else int(found.get("n") or found.get("n2") or 0)
    half = found.get("half") or found.get("half2")
    if hour > 24 or minute > 59 or (half and not 0 <= hour <= 12):
        return ()
    if half:
        return ((hour % 12 + 12 * half.startswith(_AFTER_NOON)) * 60 + minute,)
    own = hour * 60 + minute
    other = ((hour + 12) % 24 * 60 + minute,) if 1 <= hour <= 12 and not found["h"].startswith("0") else ()
    return (own, *other)


def given_moments(argument: str) -> list[Moment]:
    """Returns the readings of an argument that is a date, a time or both; empty: it is neither."""
    readings = read_dates(plain(argument))
    if len(readings) > 1 and "." in argument:
        readings = readings[1:]
    found = [
        Moment(
            (reading.day.year,) if reading.day else (),
            ((reading.day.month, reading.day.day),) if reading.day else (),
            (reading.clock.hour * 60 + reading.clock.minute,) if reading.clock else (),
            frozenset((reading.day.weekday(),)) if reading.day else frozenset(),
            is_whole=True,
            has_offset=reading.offset is not None,
        )
        for reading in readings
    ]
    if found:
        return found
    own = read_moment(argument)
    return [own] if own.is_whole and (own.days or own.minutes) else []


@lru_cache(maxsize=4096)
def likeness_of_moments(expected: str, actual: str) -> Literal["same", "different", "unclear"] | None:
    """Compares texts that spell a date or time, as `5. Mai`, `05.05.` and `May 5` do; None: one spells none.

    It is unclear where one states a part that the other leaves out (`2026-05-05` and `May 5`).
    """
    found = {_same(*pair) for pair in product(_moments(expected), _moments(actual))}
    if not found:
        return None
    return "same" if True in found else "unclear" if None in found else "different"


@lru_cache(maxsize=4096)
def _moments(text: str) -> Sequence[Moment]:
    return given_moments(text)


def _same(one: Moment, other: Moment) -> bool | None:
    parts = ((one.years, other.years), (one.days, other.days), (one.minutes, other.minutes))
    weekdays = (one.weekdays, other.weekdays)
    if any(left and right and not set(left) & set(right) for left, right in (*parts, weekdays)):
        return False
    if len(one.days) > 1 and len(other.days) > 1 and one.days != other.days:
        return False  # both are written alike, so that 5/6 is not 6/5
    same_clock = one.minutes[:1] == other.minutes[:1]
    return True if same_clock and all(bool(left) == bool(right) for left, right in parts) else None


def compare_moments(text: str, given: list[Moment], path: str) -> ValueVerdict:
    """Compares a stated moment with the readings of an argument, part by part."""
    stated = read_moment(text, path)
    if not stated.is_whole:
        return "not_compared"
    verdicts = {verdict for own in given for verdict in _readings(stated, own)}
    if verdicts == {"other"}:
        near = [_shifted(own, days) for own in given for days in (-1, 0, 1) if own.has_offset and own.days]
        verdicts |= {verdict for own in near for verdict in _readings(stated._replace(minutes=()), own)}
    return verdicts.pop() if len(verdicts) == 1 else "not_compared"


def _shifted(moment: Moment, days: int) -> Moment:
    """Returns the day that another zone may have at a moment."""
    day = date(moment.years[0], *moment.days[0]) + timedelta(days)
    weekdays = frozenset((day.weekday(),))
    return Moment((day.year,), ((day.month, day.day),), (), weekdays, is_whole=True)


def _readings(stated: Moment, given: Moment) -> Iterator[ValueVerdict]:
    """Yields the verdict of every reading of both."""
    clock = _same_time(stated.minutes, given.minutes)
    weekday = next(iter(given.weekdays), None)
    for said, own in product(stated.days or [(0, 0)], given.days or [(0, 0)]):
        years = [(year, next(iter(given.years), None)) for year in stated.years]
        days = [(one, other or None) for one, other in zip(said, own, strict=True) if one]
        yield _together([*years, *days, *((one, weekday) for one in stated.weekdays)], clock)


def _together(pairs: list[tuple[int, int | None]], clock: ValueVerdict | None) -> ValueVerdict:
    """Returns the verdict of parts, each as it is stated and given; None: it is not given."""
    if clock == "other" or any(had is not None and said != had for said, had in pairs):
        return "other"
    is_open = clock == "not_compared" or any(had is None for _, had in pairs) or not (pairs or clock)
    return "not_compared" if is_open else "same"


def _same_time(stated: tuple[int, ...], given: tuple[int, ...]) -> ValueVerdict | None:
    """Compares times; None: none is stated. `7:00` may be 19:00, but is not shown to be."""
    if not stated:
        return None
    if not given:
        return "not_compared"
    if stated[0] == given[0]:
        return "same"
    return "not_compared" if set(stated).intersection(given) else "other"
