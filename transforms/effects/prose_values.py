"""Reads dates and times in prose, compares them, and writes texts in one of several spellings."""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import product, starmap
from typing import NamedTuple
from unicodedata import normalize

from turnwise.transforms.effects.call_values import ValueVerdict, is_plain_word
from turnwise.transforms.local_judge.named_values import mark_named_values
from turnwise.transforms.text import dates
from turnwise.transforms.text.cleaning import CURRENCY_CODES, plain
from turnwise.transforms.text.values import is_denied, ordered_days, with_digits
from turnwise.transforms.text.words import with_ascii_digits, word_set

_LONGEST_GAP, _LONGEST_CALENDAR = 12, 80
_REST = re.compile(r"[^\W\d_]+|\d+|[^\s\w.,:;!?'\"“”’()·*-]")
_BESIDE = word_set("next this coming nächsten kommenden day date time o'clock today's uhr el le la om in at")


class Moment(NamedTuple):
    """What a text states of a day and a time; several readings where it is ambiguous, empty: none."""

    years: tuple[int, ...]
    days: tuple[tuple[int, int], ...]  # (month, day), 0: not stated
    minutes: tuple[int, ...]  # after midnight, as written first
    weekdays: frozenset[int]  # 0..6
    is_whole: bool  # all words are read
    has_offset: bool = False  # from UTC, so that the time is another one elsewhere


def read_moment(text: str, path: str = "") -> Moment:
    """Reads a text such as `Sat, 14 March 2026 at 3:30 pm`; with dots, the day comes before the month."""
    rest, parts = normalize("NFKC", with_ascii_digits(text)).lower(), list[dict[str, str]]()
    for patterns in (dates.DATES, dates.TIMES):
        match = next((match for pattern in patterns if (match := pattern.search(rest))), None)
        parts.append(dates.groups_of(match) if match else {})
        rest = f"{rest[: match.start()]} {rest[match.end() :]}" if match else rest
    day, clock = parts
    years, days = dates.day_of(day)
    minutes = dates.minutes_of(clock)
    left, weekdays = _REST.findall(rest), dates.weekdays_in(rest)
    if any(number for _, number in days):
        weekdays |= {dates.ALL_WEEKDAYS[word] for word in left if word in dates.ALL_WEEKDAYS}
    left = [word for word in left if not (word in _BESIDE or is_plain_word(word, path))]
    is_read = all(
        weekdays and (word in dates.ALL_WEEKDAYS or re.fullmatch(dates.WEEKDAY_IN_CHARACTERS, word))
        for word in left
    )
    is_valid = bool(days or not day) and bool(minutes or not clock) and len(weekdays) < 2
    return Moment(years, days, minutes, frozenset(weekdays), is_read and is_valid)


def states_moment(text: str, wanted: str, language: str | None) -> bool:
    """Returns whether a text states a day, a time of day or both, in any spelling, and does not deny it.

    The language (BCP 47) says which of `03/04/2026` is the day; None: it is open.
    """
    text, moment = dates.with_times_in_digits(text), read_moment(dates.with_times_in_digits(wanted))
    moment = moment._replace(days=ordered_days(moment.days, language))
    is_day = len(moment.days) == 1 and moment.days[0][1] > 0
    if not moment.is_whole or not (is_day or (moment.minutes and not moment.days)):
        return False
    text = normalize("NFKC", with_ascii_digits(text)).lower()
    if not moment.weekdays <= dates.weekdays_in(text):
        return False
    is_sure = _H_CLOCK.search(wanted) or _TWO_DIGITS.search(wanted)
    minutes = moment.minutes[:1] if is_sure else moment.minutes
    days = []
    for match in _matches(text, dates.DATES):
        years, stated = dates.day_of(dates.groups_of(match))
        if ordered_days(stated, language) == moment.days and set(moment.years) <= set(years):
            days.append(match)
    times = [(match, dates.minutes_of(dates.groups_of(match))[:1]) for match in _matches(text, dates.TIMES)]
    clocks = [match for match, first in times if {*first} & {*minutes}]
    if not (is_day and minutes):
        return bool(days or clocks)
    gaps = (max(day.start() - clock.end(), clock.start() - day.end()) for day in days for clock in clocks)
    return any(gap <= _LONGEST_GAP for gap in gaps)


def _matches(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[re.Match[str]]:
    """Yields what the patterns match and nothing denies; what an earlier one has matched is no one else's."""
    taken: set[int] = set()
    for match in (match for pattern in patterns for match in pattern.finditer(text)):
        if taken.isdisjoint(range(*match.span())) and not is_denied(text, *match.span()):
            yield match
        taken.update(range(*match.span()))


def given_moments(argument: str) -> list[Moment]:
    """Returns the readings of an argument that is a date, a time or both; empty: it is neither."""
    moments = [
        _moment_of(day, (clock.hour * 60 + clock.minute,) if clock else (), offset is not None)
        for day, clock, offset in dates.read_dates(plain(argument))
    ]
    if moments:
        return moments
    moment = read_moment(argument)
    return [moment] if moment.is_whole and (moment.days or moment.minutes) else []


def _moment_of(day: date | None, minutes: tuple[int, ...], has_offset: bool) -> Moment:
    if day is None:
        return Moment((), (), minutes, frozenset(), True, has_offset)
    weekdays = frozenset((day.weekday(),))
    return Moment((day.year,), ((day.month, day.day),), minutes, weekdays, True, has_offset)


_ALL_DAYS = {f"{name}s" for name in dates.WEEKDAYS}
_CALENDAR = {
    **{name: ("weekday", day) for name, day in dates.ALL_WEEKDAYS.items() if name not in _ALL_DAYS},
    **{name: ("month", month) for name, month in dates.MONTHS.items()},
    **dict.fromkeys(("to", "bis", "through", "till", "until", "–", "-"), ("-", 0)),
}
_CALENDAR_WORD = re.compile(r"[^\W\d_]+|[^\s.,]")


def likeness_of_calendar_names(expected: str, actual: str) -> dates.Likeness | None:
    """Compares texts of weekdays and months (`Mon, Wed` and `Monday, Wednesday`); None: one is none.

    It is unclear where two letters stand for a weekday, which may be something else.
    """
    if max(len(expected), len(actual)) > _LONGEST_CALENDAR:
        return None
    words = [_CALENDAR_WORD.findall(text.lower()) for text in (expected, actual)]
    sides = [list(map(_CALENDAR.get, side)) for side in words]
    if words[0] == words[1] or any(not side or None in side for side in sides):
        return None
    is_sure = all(len(word) > 2 for side in words for word in side if _CALENDAR[word][1])
    return "different" if sides[0] != sides[1] else "same" if is_sure else "unclear"


@lru_cache(maxsize=4096)
def likeness_of_moments(expected: str, actual: str) -> dates.Likeness | None:
    """Compares texts that spell a date or time, as `5. Mai`, `05.05.` and `May 5` do; None: one spells none.

    It is unclear where one states a part that the other leaves out (`2026-05-05` and `May 5`), and where only
    the order of day and month in one of them decides.
    """
    ends = [_RANGE_OF_MOMENTS.fullmatch(text.strip()) for text in (expected, actual)]
    if ends[0] and ends[1]:
        of_ends = {likeness_of_moments(ends[0][end], ends[1][end]) for end in (1, 2)}
        return next((likeness for likeness in (None, "different", "unclear") if likeness in of_ends), "same")
    read = [dates.read_dates(plain(text)) for text in (expected, actual)]
    if all(read):
        return dates.likeness_of_dates(*read)
    left, right = _moments(expected), _moments(actual)
    same = set(map(_same, left, right) if len(left) == len(right) else starmap(_same, product(left, right)))
    if not same:
        return None
    return "same" if same == {True} else "different" if same == {False} else "unclear"


@lru_cache(maxsize=4096)
def _moments(text: str) -> Sequence[Moment]:
    """Returns the moments that a text may spell, one for every reading of day and month."""
    text = _POINT_IN_CLOCK.sub(":", _HOUR_WORD.sub(lambda word: "h" if word[1] else " uhr", text))
    moments = given_moments(text)
    if _H_CLOCK.search(text):
        moments = [moment._replace(minutes=moment.minutes[:1]) for moment in moments]
    return [moment._replace(days=(day,)) for moment in moments for day in moment.days] or moments


_RANGE_OF_MOMENTS = re.compile(r"(?i)(.*(?::\d\d|[ap]m|h|uhr))\s*(?:-|(?:to|bis|until|till|à|a)\s)\s*(\d.*)")
_HOUR_WORD = re.compile(r"(?<=\d)\s?(?:(heures?|horas?)|o['’]?clock)\b", re.IGNORECASE)
_POINT_IN_CLOCK = re.compile(r"(?<=\d)\.(?=\d\d\s?[ap]\.?m)", re.IGNORECASE)
_H_CLOCK, _TWO_DIGITS = re.compile(r"\d\s?h", re.IGNORECASE), re.compile(r"(?<!\d)1[01]:[0-5]\d$")


def _same(moment: Moment, other: Moment) -> bool | None:
    for whole, day in ((moment, other), (other, moment)):
        # Whether one text states a month alone, in which the other states a day: `May 2026`.
        months = {number for number, of_month in whole.days if not of_month}
        if whole.years == day.years and months & {number for number, of_month in day.days if of_month}:
            return None
    parts = ((moment.years, other.years), (moment.days, other.days), (moment.minutes, other.minutes))
    weekdays = (moment.weekdays, other.weekdays)
    if any(left and right and not set(left) & set(right) for left, right in (*parts, weekdays)):
        return False
    same_clock = moment.minutes[:1] == other.minutes[:1] and (
        moment.has_offset == other.has_offset or not (moment.minutes and other.minutes)
    )
    return True if same_clock and all(bool(left) == bool(right) for left, right in parts) else None


_SIZES = {
    "time": {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0, "week": 604_800.0},
    "mass": {"mcg": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3},
    "length": {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "inch": 0.0254, "ft": 0.3048, "mile": 1609.344},
    "volume": {"ml": 1e-3, "liter": 1.0},
    "speed": {"km/h": 1.0, "mph": 1.609344, "m/s": 3.6},
}
"""Dimension -> unit -> size. Pounds, ounces, tons and bytes are left out: they may be others."""
_SIZE_OF_MARK = {
    mark_named_values(f"1 {unit}", {}).split()[1]: (dimension, size)
    for dimension, units in _SIZES.items()
    for unit, size in units.items()
}
"""Mark of a unit in a text -> its dimension and size."""
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s+(zqunit\d\d)(?:[\s,+]|\b(?:and|und|et|y|e)\b)*")
_CODE = re.compile(r"[a-z]+\d", re.IGNORECASE)  # as `G4792`: a quantity begins with a number
_ISO_DURATION = re.compile(
    r"(?i)P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_SECONDS = (604_800, 86_400, 3600, 60, 1)
_RUNNING_CLOCK = re.compile(r"(\d{1,3})\s?([:h])\s?([0-5]\d)(?:(?::([0-5]\d))?|\s?m(?:in)?)", re.IGNORECASE)
_TEMPERATURE = re.compile(r"(-?\d+(?:\.\d+)?)\s?(°|º|degrees?)?\s?([cf])(elsius|ahrenheit)?", re.IGNORECASE)
_ROUNDED = 0.02
"""Share by which a converted quantity may be off: `5 km` and `3.1 miles`."""


def likeness_of_quantities(expected: str, actual: str) -> dates.Likeness | None:
    """Compares a quantity with one in other units: `90 min`, `1.5 hours` and `PT1H30M`; None: one is none.

    It is unclear where a conversion was rounded, and where only one reading of `1:30` is the same.
    """
    if max(len(expected), len(actual)) > _LONGEST_CALENDAR:
        return None
    pairs = [
        (size, other_size)
        for dimension, size, units in _quantities(expected)
        for other_dimension, other_size, other_units in _quantities(actual)
        if dimension == other_dimension and units != other_units
    ]
    if not pairs:
        return None
    if all(math.isclose(*pair, rel_tol=1e-9) for pair in pairs):
        return "same"
    return "unclear" if any(math.isclose(*pair, rel_tol=_ROUNDED) for pair in pairs) else "different"


@lru_cache(maxsize=4096)
def _quantities(text: str) -> Sequence[tuple[str, float, tuple[str, ...]]]:
    """Returns dimension, size and units of each reading of a quantity; empty: the text is none."""
    text = text.strip()
    if match := _ISO_DURATION.fullmatch(text):
        seconds = sum(float(n) * factor for n, factor in zip(match.groups(), _SECONDS, strict=True) if n)
        return (("time", seconds, ("P",)),)
    if match := _RUNNING_CLOCK.fullmatch(text):
        first, second, third = (int(match[group] or 0) for group in (1, 3, 4))
        hours = ("time", first * 3600.0 + second * 60 + third, (":",))
        is_sure = match[2] != ":" or match[4] is not None
        return (hours,) if is_sure else (hours, ("time", first * 60.0 + second, (":",)))
    if match := _TEMPERATURE.fullmatch(text):
        is_celsius = match[3].lower() == "c"
        degrees = float(match[1]) if is_celsius else (float(match[1]) - 32) / 1.8
        return (("temperature", degrees + 273.15, ("c" if is_celsius else "f",)),)
    if _CODE.match(text):
        return ()
    marked = mark_named_values(_ARTICLE.sub("1 ", spell_alike(text.replace("µ", "mc"))), {})
    parts = list(_QUANTITY.finditer(re.sub(r"(?<=\d),(?=\d{3}\b)", "", marked).strip()))
    sizes = [(float(part[1]), *_SIZE_OF_MARK.get(part[2], ("", 0.0)), part[2]) for part in parts]
    dimensions = {dimension for _, dimension, _, _ in sizes}
    if len(dimensions) != 1 or "" in dimensions or "".join(part[0] for part in parts) != marked.strip():
        return ()
    units = tuple(unit for *_, unit in sizes)
    return ((dimensions.pop(), math.fsum(number * size for number, _, size, _ in sizes), units),)


_ARTICLE = re.compile(r"^(?:an?|one|eine?n?|une?|una?)\s+(?=[^\W\d])", re.IGNORECASE)


def compare_moments(text: str, given: list[Moment], path: str) -> ValueVerdict:
    """Compares a stated moment with the readings of an argument, part by part."""
    stated = read_moment(text, path)
    if not stated.is_whole:
        return "not_compared"
    verdicts = {verdict for moment in given for verdict in _verdicts(stated, moment)}
    if verdicts == {"other"}:
        # Another zone may have the day before or after.
        days = [date(m.years[0], *m.days[0]) for m in given if m.has_offset and m.days]
        near = [_moment_of(day + timedelta(shift), (), False) for day in days for shift in (-1, 0, 1)]
        stated = stated._replace(minutes=())
        verdicts |= {verdict for moment in near for verdict in _verdicts(stated, moment)}
    return verdicts.pop() if len(verdicts) == 1 else "not_compared"


def _verdicts(stated: Moment, given: Moment) -> Iterator[ValueVerdict]:
    """Yields the verdict of every reading of both; what is stated, but not given, is open."""
    is_other, is_open = False, False
    if stated.minutes and not given.minutes:
        is_open = True
    elif stated.minutes and stated.minutes[0] != given.minutes[0]:
        # `7:00` may be 19:00, but is not shown to be.
        is_open = not set(stated.minutes).isdisjoint(given.minutes)
        is_other = not is_open
    weekday, year = next(iter(given.weekdays), None), next(iter(given.years), None)
    for ours, theirs in product(stated.days or [(0, 0)], given.days or [(0, 0)]):
        days = [(part, other or None) for part, other in zip(ours, theirs, strict=True) if part]
        pairs = [*days, *((y, year) for y in stated.years), *((day, weekday) for day in stated.weekdays)]
        if is_other or any(other is not None and part != other for part, other in pairs):
            yield "other"
        elif is_open or any(other is None for _, other in pairs) or not (pairs or stated.minutes):
            yield "not_compared"
        else:
            yield "same"


# Writes texts that may be spelled in several ways in one of them.

STREETS = {
    **{"st": "street", "ave": "avenue", "rd": "road", "blvd": "boulevard", "ln": "lane", "dr": "drive"},
    **{"apt": "apartment", "ct": "court", "pl": "place", "sq": "square", "hwy": "highway", "ste": "suite"},
    "str": "strasse",
}
"""Abbreviation of a part of an address -> the word."""
_OUR = (
    "arm|behavi|cand|clam|col|demean|endeav|fav|flav|harb|hon|hum|lab|neighb|od|parl|rig|rum|sav|splend|tum"
    "|val|vap|vig"
)
_SPELLINGS = [
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"\bcan(?:['’]t|not)\b", "can not"),
        (r"\bwon['’]t\b", "will not"),
        (r"n['’]t\b", " not"),
        (r"(?<=\w{4})is(?=(?:e[sdr]?|ers?|ing|ations?|ational)\b)", "iz"),
        (r"(?<=\w{3})ys(?=(?:e[sdr]?|ing)\b)", "yz"),
        (rf"\b((?:dis|mis)?(?:{_OUR}))our(?=(?:s|ed|ing|abl[ey]|ful|ites?|less|hoods?|ly)?\b)", r"\1or"),
        (r"\b(cent|theat|lit|fib|calib|somb|spect|(?:kilo|centi|milli)?met)re(?=s?\b)", r"\1er"),
        (r"(?<=\w[aeiou][b-df-hj-np-tv-z])([aeiou])ll(?=(?:ed|ing|er|ers|ations?)\b)", r"\1l"),
        (r"(?<=\w[aeiou][b-df-hj-np-tv-z]{2})([aeiou])ll(?=(?:ed|ing|er|ers|ations?)\b)", r"\1l"),
        (r"\b(enro|fulfi|insta)ll(?=s?\b|ment)", r"\1l"),
        (r"\b(catal|dial|anal|monol)ogue(?=s?\b)", r"\1og"),
        (r"\b(licen|defen|offen|preten|practi)[cs]e(?=[sd]?\b)", r"\1se"),
        (r"\bgrey(?=s?\b)", "gray"),
        (r"\b(ag|judg|acknowledg)e(?=ing\b|ment)", r"\1"),
        (r"\bprogramme(?=s?\b)", "program"),
        (r"\b(?-i:D)r\.?(?= ?(?-i:[A-Z])\w)", "doctor"),
        (r"\b(?-i:P)rof\.?(?= ?(?-i:[A-Z])\w)", "professor"),
        (r"(?<=\w)(?:straße|strasse|str\.)", "strasse"),
        # 1.5 hours, ranges
        (r"(?<!\S)(?:an?|une?|una|1) (\w+) (?:and a half|et demie?|y medi[ao])\b", r"1.5 \1"),
        (r"(?<![\d.,])(\d{1,3})(?: and a half| ?½)(?!\w)", r"\1.5"),
        (r"(?<!\S)half an? (\w+)", r"0.5 \1"),
        (r"(?<![\d.,])(\d{1,3})( ?(?:時間|시간|か月|ヶ月|개월|小时)) ?[半반]", r"\1.5\2"),
        (r"(?<![\w#])#(?=[\w-]*\d)", ""),
        (
            rf"(?<![\w-])(?!(?:UTC|GMT|{CURRENCY_CODES.pattern})-)((?-i:[A-Z]){{1,4}})-(?=\d{{2,}}(?![\w-]))",
            r"\1",
        ),
        (r"(?<![\w-])(\d{1,4})-(?=(?-i:[a-z]{3}))", r"\1 "),
        (
            r"(?<![\d.,])(\d{1,9}),(?=\d\d? ?(?:[€%]|(?:eur|euros?|chf|prozent|kg|km|[gml]|liter|litres?"
            r"|litros?|meter|h|hours?|stunden|heures?|horas?|tage|jours|d[ií]as)\b))",
            r"\1.",
        ),
        (r"(?<=\d:\d\d) ?Uhr\b", ""),
        (r"(?<![\w.,])(\d{1,2}) ?h ?([0-5]\d)\b(?! ?min)", r"\1:\2"),
        (r"(?<![T\d:.-])(?<!-\d\d )(\d{1,2}:\d\d) ?- ?(?=\d{1,2}:\d\d(?![:\d]))", r"\1 to "),
    )
]
_STREET = re.compile(rf"(?i)(?<=[\w,] )({'|'.join(STREETS)})\b\.?(?=\s*(?:$|[,;\d])|\s+(?-i:[A-Z]))")
_RANGE = re.compile(
    r"(?a)(?<![\w.,/:-])(\d{1,3})(?:[-–~〜]| [-–~〜a] | ?(?:to|bis|à|から|에서|到) ?)"
    r"(?=(\d{1,3})(?![\w/:-]|[.,]\d))"
)
PHONE = re.compile(r"(?a)(?<![\w.,/-])(?:\+|00)?\(?\d(?:[ ()./-]{0,2}\d){7,15}(?![\w/:-]|[.,]\d)")
_DECIMALS_OR_DATE = re.compile(r"\d+\.\d+$|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)\b")
_US_PHONE = re.compile(r"\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}|(?:\d{4}[ -]){3}\d{4}")


@lru_cache(maxsize=512)
def spell_alike(text: str) -> str:
    """Writes a text in one of several spellings that mean the same.

    Numbers in digits, English as in the United States, titles and streets in full, ranges as `5 to 10`, phone
    and card numbers without spaces, codes without signs (`#W-123`).
    """
    text = dates.with_noon_in_digits(PHONE.sub(_without_gaps, with_digits(normalize("NFKC", text))))
    for pattern in (dates.TIMES[0], dates.TIMES[3]):
        text = pattern.sub(_clock, text)
    for spelling, written in _SPELLINGS:
        text = spelling.sub(written, text)
    text = _STREET.sub(lambda street: STREETS[street[1].lower()], text)
    return _RANGE.sub(lambda ends: f"{ends[1]} to " if int(ends[1]) < int(ends[2]) else ends[0], text)


def _clock(time: re.Match[str]) -> str:
    """Writes a time after noon, or of which half of the day it is in, as `14:00`; `2 Uhr` may be another."""
    groups = dates.groups_of(time)
    minutes = dates.minutes_of(groups)
    is_sure = minutes and ("half" in groups or minutes[0] >= 720)
    return f" {minutes[0] // 60}:{minutes[0] % 60:02} " if is_sure else time[0]


def _without_gaps(phone: re.Match[str]) -> str:
    number = phone[0]
    is_phone = number.startswith(("+", "0", "(0")) or _US_PHONE.fullmatch(number)
    if not is_phone or _DECIMALS_OR_DATE.match(number):
        return number
    return re.sub(r"^00(?=[1-9])", "+", re.sub(r"[ ()./-]", "", number))
