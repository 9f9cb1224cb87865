"""Finds numbers that evidence does not state, but that may follow from it.

As `20 %` of `{"discount": 0.2}`, `$12.50` of `{"price_cents": 1250}`, `2 weeks` of `14 days`, `7 h 30` of
`07:30`, `at 9` of `21:00`, `4.3` of `4.33`, `about 1,200` of `1187`, `3 flights` of a list or a table of
three, the sum of its prices, and `2 pm` of `21:00Z`. Whether such a number is right remains open, so that it
refutes nothing.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import combinations
from math import fsum, isfinite
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped
from turnwise.transforms.local_judge.named_values import measured
from turnwise.transforms.text.dates import DateReading, read_dates, time_seconds
from turnwise.transforms.text.words import Keys

_FACTORS = (7, 12, 24, 30, 60, 100, 365, 1_000, 1_024, 1_440, 3_600, 10_000, 86_400, 1_000_000)
"""Between units: of time, shares, money, sizes and quantities."""
_INEXACT = (0.3048, 0.453592, 0.9144, 1.609344, 2.54, 3.785412, 28.34952)
"""Between units of other systems: foot, pound, yard, mile, inch, gallon, ounce."""
_RADICES = (7, 12, 24, 60, 100, 3_600)
"""Between the two units of `2 weeks 3 days`, `6 feet 2`, `7 h 30`, `12 dollars 50`."""
_NEAR, _LESS_NEAR = 0.05, 0.2
"""By what share a number with one zero at its end, or with several, may differ from what it stands for."""
_MOST_ROUND = 3
"""Digits of a round number, without the zeros at its end."""
_MOST_SIBLINGS = 12
"""Numbers of one record, or of a text, that are taken together, each with each."""
_MOST_AMOUNTS, _LEAST_AMOUNT = 10, 10.0
"""Of an evidence with so few numbers of such a size, any two may be added."""
_EXACT = 0.01
"""By what share a number in a unit of another system may differ."""
_MOST_VALUES, _MOST_LISTED, _LARGEST = 5_000, 10_000, 1e15
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_DURATION = re.compile(
    r"\bP(?=[\dT])(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?"
    r"(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?\b"
)
_MINUTES = (525_600.0, 43_200.0, 10_080.0, 1_440.0, 60.0, 1.0, 1 / 60)
"""Minutes of the units of a duration in ISO 8601, where a month has 30 days."""
_NUMERAL = re.compile(
    r"(?:[A-Za-z]{3}\s|[$€£¥₩₹]\s?)?(-?(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,9})?)"
    r"(?:\s?(?:[^\W\d_]{1,3}|[%€]))?"
)
_MOMENT = re.compile(
    r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)?\s?(?:Z|UTC|GMT|[+-]00:?00)(?!\w)"
    r"|(?<![\w.-])(1\d{9}(?:\d{3})?)(?![\w.])"
)
"""A time in UTC, or seconds or milliseconds since the epoch, which people are told in their own zone."""
_MOST_MOMENTS, _INDIA = 1_000, 330
_DAY_KEY, _DOTTED_TIME = re.compile(r"#m(\d+)d(\d+)"), re.compile(r"#(1?\d|2[0-3])\.([0-5]\d?)$")
_DECODER = json.JSONDecoder()
_BRACKET = re.compile(r"""\{|\[(?=\s{0,99}(?:["{\[]|-?[\d.]{1,20}\s{0,4},))""")  # not `[1]` of a citation
_MOST_BROKEN = 20
_RULE = re.compile(r"[\s:+-]*")


class ClaimedNumbers(NamedTuple):
    """Missing numbers of a claim, in their order, and what may stand between them and those of evidence.

    `factors` are its small numbers, as in `two tickets`.
    """

    values: Sequence[float]
    factors: Set[float]
    has_unit: bool
    has_share: bool


@dataclass(frozen=True, eq=False)
class DerivedNumbers:
    """Numbers that evidence states, those computed of its records, and minutes of its times.

    `shares` are percentages of one number of a record in another. `moments` are keys of the days and times
    of day that its moments may have in some time zone, a day with the keys of its number and year. `keys`
    are all of its keys, and `lengths` days from one of its days to another, as of `30 days`, also negative.
    """

    stated: Set[float]
    computed: Set[float] = frozenset()
    shares: Set[float] = frozenset()
    minutes: Set[float] = frozenset()
    moments: Mapping[str, Set[str]] = field(default_factory=dict)
    records: Sequence[JsonValue] = ()
    keys: Set[str] = frozenset()
    lengths: Set[int] = frozenset()

    @cached_property
    def _stated(self) -> list[float]:
        return sorted(self.stated)

    @cached_property
    def _exact(self) -> list[float]:
        return sorted(self.stated | self.computed)

    @cached_property
    def _shares(self) -> list[float]:
        return sorted(self.shares)

    def may_hold(self, value: float, claim: ClaimedNumbers) -> bool:
        """Returns whether a number may be one of these: converted, times a small number, or rounded."""
        times = {round(value * minutes, 9) for minutes in (1, 60, 1 / 60, 1_440)}
        if value in self.computed or not times.isdisjoint(self.minutes):
            return True
        if any({round(value * f, 9), round(value / f, 9)} & self.stated for f in _FACTORS):
            return True
        parts = (round(value / f, 9) for f in claim.factors - {value})
        if any(part in self.stated or part in self.computed for part in parts):
            return True
        if _is_rounded(value, self._exact) or (claim.has_share and _is_rounded(value, self._shares)):
            return True
        # A number that ends in zeros stands for one that is rounded to it, or a little more (`over 500`).
        # Of `5843230` each digit counts, as of a number of an order.
        tens = 10.0 ** (len(digits := f"{value:.15g}") - len(digits.rstrip("0")))
        most = value * (_LESS_NEAR if tens > 10 else _NEAR)
        low, high = value - min(0.499 * tens, most), value + min(0.999 * tens, most)
        is_round = tens > 1 and "." not in digits and len(digits.rstrip("0")) <= _MOST_ROUND
        if is_round and _between(self._stated, low, high):
            return True
        same = [value * 1.8 + 32, (value - 32) / 1.8] if claim.has_unit else []  # Celsius and Fahrenheit
        for factor in _INEXACT if claim.has_unit else ():
            same += [value * factor, value / factor]
        return any(_between(self._stated, x - abs(x) * _EXACT, x + abs(x) * _EXACT) for x in same)

    def may_hold_both(self, value: float, less: float) -> bool:
        """Returns whether two numbers may be one of these together, as hours and minutes are."""
        for radix in _RADICES:
            whole, share = value * radix + less, round(value + less / radix, 4)
            held = (self.minutes, self.stated, self.computed)
            if share in self.stated or any(whole in numbers for numbers in held):
                return True
        return (value * 60 + less) * 60 in self.stated

    def of_moment(self, keys: Keys) -> Set[str]:
        """Returns keys of what may be a moment of these, in another zone or spelling, or days from one."""
        lengths = {key for key in keys if key.startswith("#t")}
        held = (self.stated, self.computed)
        if len(lengths) > 1 and any(float(key[2:]) in numbers for key in lengths for numbers in held):
            return lengths
        moments = set[str]().union(*(self.moments.get(key, ()) for key in keys))
        for time in lengths:
            moments |= {time} if int(time[2:]) // 60 + int(time[2:]) % 60 / 100 in self.stated else set()
        for hour, minute in (time for key in keys for time in _DOTTED_TIME.findall(key)):
            moments |= {*keys} if int(hour) * 60 + int(minute.ljust(2, "0")) in self.minutes else set()
        for month, day in (map(int, day) for key in keys for day in _DAY_KEY.findall(key)):
            with suppress(ValueError, OverflowError):  # 30 February, 5 million days
                others = (datetime(2024, month, day) + timedelta(days) for days in self.lengths)
                if any(f"#m{other.month}d{other.day}" in self.keys for other in others):
                    moments |= {*keys, f"#{day}"}
        return moments


def _between(numbers: list[float], low: float, high: float) -> list[float]:
    """Returns the numbers of a sorted list in a range."""
    return numbers[bisect_left(numbers, low) : bisect_right(numbers, high)]


def _is_rounded(value: float, numbers: list[float]) -> bool:
    """Returns whether a number is one of a sorted list with fewer decimals."""
    decimals = len(f"{value:.15g}".partition(".")[2])
    half = 0.5 * 10.0**-decimals
    return any(number != round(number, decimals) for number in _between(numbers, value - half, value + half))


def claimed_numbers(text: str, values: Sequence[float], factors: Set[float] = frozenset()) -> ClaimedNumbers:
    """Returns missing numbers of a text, with the units in it."""
    return ClaimedNumbers(values, factors, *measured(text))


def may_follow(claim: ClaimedNumbers, evidence: DerivedNumbers) -> list[float]:
    """Returns the missing numbers of a claim that may follow from evidence."""
    following: list[float] = []
    for i, value in enumerate(claim.values):
        if evidence.may_hold(value, claim):
            following.append(value)
        elif i and evidence.may_hold_both(claim.values[i - 1], value):
            following += claim.values[i - 1 : i + 1]
    return following


def _of_pairs(numbers: Sequence[float]) -> set[float]:
    """Returns sums of two numbers, and differences that are not small, as many numbers of a text are."""
    sums = {round(abs(left + right), 2) for left, right in combinations(numbers, 2)}
    differences = {round(abs(left - right), 2) for left, right in combinations(numbers, 2)}
    return sums | {difference for difference in differences if difference >= _LEAST_AMOUNT}


def taken_together(pieces: Sequence[DerivedNumbers]) -> DerivedNumbers:
    """Returns what may follow from several pieces of evidence, of which each may be a record of its own."""
    amounts = {number for piece in pieces for number in piece.stated if number >= _LEAST_AMOUNT}
    computed = _of_pairs(list(amounts)) if len(amounts) <= _MOST_AMOUNTS else set()
    computed |= _of_list([record for piece in pieces for record in piece.records])
    moments = dict[str, Set[str]]()
    for piece in pieces:
        moments |= piece.moments
    return DerivedNumbers(
        frozenset[float]().union(*(piece.stated for piece in pieces)),
        computed.union(*(piece.computed for piece in pieces)),
        frozenset[float]().union(*(piece.shares for piece in pieces)),
        frozenset[float]().union(*(piece.minutes for piece in pieces)),
        moments,
        keys=frozenset[str]().union(*(piece.keys for piece in pieces)),
        lengths=frozenset[int]().union(*(piece.lengths for piece in pieces)),
    )


def derived_numbers(text: str, stated: Set[float], keys: Set[str], lengths: Set[int]) -> DerivedNumbers:
    """Returns what may follow from evidence, given its numbers, keys, and lengths of time in days."""
    minutes = set[float]()
    for hours, parts, seconds in _CLOCK.findall(text):
        clock = int(hours) * 60 + int(parts)
        # A time of day, also of twelve hours, or a duration, also of minutes and seconds.
        minutes |= {clock, clock - 720 if clock >= 780 else clock + 720}
        minutes |= {clock / 60} if not seconds else {clock + int(seconds) / 60}
    for units in _DURATION.findall(text):
        minutes.add(fsum(int(unit or 0) * size for unit, size in zip(units, _MINUTES, strict=True)))
    computed, shares = set[float](), set[float]()
    records = _records_in(text)
    has_one, waiting = False, [*records, records] if records[1:] else [*records]
    while waiting and len(computed) < _MOST_VALUES:
        value = waiting.pop()
        if isinstance(value, dict):
            computed |= _of_object(value)
            numbers = sorted(abs(number) for item in value.values() if (number := _number(item)))
            of_pairs = [100 * low / high for low, high in combinations(numbers[:_MOST_SIBLINGS], 2)]
            shares |= {*of_pairs, *(100 - share for share in of_pairs)}
            has_one = has_one or 1.0 in map(_number, value.values())
            waiting += value.values()
        elif isinstance(value, list):
            computed |= _of_list(value)
            waiting += value if value is not records else ()
        elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            waiting += _records_in(value)
    # Of 1, which stands in most texts, any unit would follow.
    stated = {number for number in stated if isfinite(number)} - {0.0, 1.0} | ({1.0} if has_one else set())
    return DerivedNumbers(stated, computed, shares, minutes, _moments_in(text), records, keys, lengths)


def _records_in(text: str) -> list[JsonValue]:
    """Returns the values that stand in a text as JSON, or else the rows of its table, or its lines."""
    records: list[JsonValue] = []
    end = broken = 0
    while broken < _MOST_BROKEN and (start := _BRACKET.search(text, end)):
        try:
            value, end = _DECODER.raw_decode(text, start.start())
            records += [value] if value else []
        except (ValueError, RecursionError):
            end, broken = start.end(), broken + 1
    if records:
        return records
    lines = [
        line.strip().strip("|") for line in text.splitlines() if not _RULE.fullmatch(line.replace("|", ""))
    ]
    for mark in "|\t,;":
        if len(lines) > 2 and (count := lines[-1].count(mark)) and lines[-2].count(mark) == count:
            rows = (line.split(mark) for line in lines if line.count(mark) == count)
            return [{str(i): cell.strip() for i, cell in enumerate(row)} for row in rows][1:]
    # Entries of a list, often with a line before them.
    return [*lines[1:]] if len(lines) > 2 else []


def _moments_in(text: str) -> dict[str, Set[str]]:
    """Returns the keys of the days and times of day that moments of a text may have in some time zone."""
    moments, days, times = dict[str, Set[str]](), set[datetime](), set[int]()
    for match in list(_MOMENT.finditer(text))[:_MOST_MOMENTS]:
        day, clock, epoch = match.groups()
        seconds = time_seconds(float(epoch) if epoch else f"{day}T{clock}:00Z")
        if seconds is not None:
            moment = datetime.fromtimestamp(seconds, UTC)
            # Zones differ by whole hours, so that each hour with these minutes is one, India's by a half.
            times |= {moment.minute, (moment.hour * 60 + moment.minute + _INDIA) % 1_440}
            for shift in (-1, 0, 1):
                with suppress(OverflowError):  # beside the first and the last day that there is
                    days.add(moment + timedelta(days=shift))
    for minute in times:
        whole = range(minute, 1_440, 60) if minute < 60 else (minute,)
        moments |= {f"#t{minutes}": {f"#t{minutes}"} for minutes in whole}
    for moment in days:
        day = f"#m{moment.month}d{moment.day}"
        moments[day] = {day, f"#{moment.day}", f"#{moment.year}"} | moments.get(day, set())
    return moments


def _number(value: JsonValue) -> float | None:
    if isinstance(value, str) and len(value) < 40 and (numeral := _NUMERAL.fullmatch(value.strip())):
        return float(numeral[1].replace(",", ""))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _LARGEST else None


def _cells(item: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yields the values of an entry of a list with their paths, without those of lists in it."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _cells(value, (*path, key))
    elif not isinstance(item, list):
        yield path, item


def _of_list(items: Sequence[JsonValue]) -> set[float]:
    """Returns how many entries a list has, and how many are alike, with sums and means of its columns."""
    computed = {float(len(items))}
    for column in grouped(cell for item in items[:_MOST_LISTED] for cell in _cells(item)).values():
        computed |= {float(count) for count in (len(column), *Counter(map(repr, column)).values())}
        numbers = [number for value in column if (number := _number(value)) is not None]
        if len(numbers) > 1:
            total = abs(fsum(numbers))
            computed |= {round(total, 2), total / len(numbers)}
    return computed


def _of_object(record: JsonObject) -> set[float]:
    """Returns what may follow from the values of a record by themselves.

    Sums, differences, products and ratios of its numbers, lengths between its dates in days, hours and
    minutes, and the amount of Google's Money (`units` and `nanos`).
    """
    numbers = [number for value in record.values() if (number := _number(value)) is not None]
    computed = {float(len(record)), *_of_pairs(numbers[:_MOST_SIBLINGS])}
    for left, right in combinations(numbers[:_MOST_SIBLINGS], 2):
        computed |= {round(abs(x), 2) for x in (left * right, left / (right or 1), right / (left or 1))}
    if "units" in record and "nanos" in record:
        computed.add((_number(record["units"]) or 0) + (_number(record["nanos"]) or 0) / 1e9)
    texts = [value for value in record.values() if isinstance(value, str)]
    moments = [readings[0] for text in texts[:_MOST_SIBLINGS] if (readings := read_dates(text))]
    for first, second in combinations(moments, 2):
        if first.day and second.day:
            days = float(abs((first.day - second.day).days))
            computed |= {days, days + 1}  # also with the first one
        for minutes in _minutes_between(first, second):
            computed |= {minutes, minutes / 60}
    return computed


def _minutes_between(first: DateReading, second: DateReading) -> Iterator[float]:
    if first.instant and second.instant:
        yield abs((first.instant - second.instant).total_seconds()) / 60
    elif first.clock and second.clock:
        left, right = (
            datetime.combine(r.day or datetime.min, r.clock or datetime.min.time()) for r in (first, second)
        )
        minutes = abs((left - right).total_seconds()) / 60
        yield from (minutes, 1_440 - minutes) if not (first.day and second.day) else (minutes,)
