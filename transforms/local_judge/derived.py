"""Finds numbers that evidence does not state, but that may follow from it.

As `20 %` of `{"discount": 0.2}`, `$12.50` of `{"price_cents": 1250}`, `2 weeks` of `14 days`, `7 h 30` of
`07:30`, `at 9` of `21:00`, `4.3` of `4.33`, `about 1,200` of `1187`, `3 flights` of a list of three, and the
sum of its prices. Whether such a number is right remains open, so that it refutes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain, combinations
from math import fsum, isclose, isfinite
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, json_structure
from turnwise.transforms.local_judge.named_values import measured
from turnwise.transforms.text.dates import read_dates

_FACTORS = (7, 12, 24, 30, 60, 100, 365, 1_000, 1_024, 1_440, 3_600, 10_000, 86_400, 1_000_000)
"""Between units: of time, shares, money, sizes and quantities."""
_INEXACT = (0.3048, 0.453592, 0.9144, 1.609344, 2.54, 3.785412, 28.34952)
"""Between units of other systems: foot, pound, yard, mile, inch, gallon, ounce."""
_RADICES = (7, 12, 24, 60, 100, 3_600)
"""Between the two units of `2 weeks 3 days`, `6 feet 2`, `7 h 30`, `12 dollars 50`."""
_NEAR = 0.05
"""By what share a round number may differ from the one that it stands for."""
_MOST_ROUND = 3
"""Digits of a round number, without the zeros at its end."""
_MOST_SIBLINGS = 12
"""Numbers of one record, or of a text, that are taken together, each with each."""
_MOST_AMOUNTS, _LEAST_AMOUNT = 10, 10.0
"""Of an evidence with so few numbers of such a size, any two may be added."""
_EXACT = 0.01
"""By what share a number in a unit of another system may differ."""
_MOST_VALUES = 5_000
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_DURATION = re.compile(
    r"\bP(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?\b"
)
_MINUTES = (525_600.0, 43_200.0, 10_080.0, 1_440.0, 60.0, 1.0, 1 / 60)
"""Minutes of the units of a duration in ISO 8601, where a month has 30 days."""
_NUMERAL = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")


class DerivedNumbers(NamedTuple):
    """Numbers that a piece of evidence states, those computed of its records, and minutes of its times.

    `shares` are percentages of one number of a record in another.
    """

    stated: Set[float]
    computed: Set[float] = frozenset()
    shares: Set[float] = frozenset()
    minutes: Set[float] = frozenset()

    def may_hold(self, value: float, claim: "ClaimedNumbers") -> bool:
        """Returns whether a number may be one of these: converted, times a small number, or rounded."""
        times = (value, value * 60, value / 60, value * 1_440)
        if value in self.computed or any(time in self.minutes for time in times):
            return True
        if any(value * f in self.stated or round(value / f, 9) in self.stated for f in _FACTORS):
            return True
        if any(round(value / f, 9) in self.stated | self.computed for f in claim.factors - {value}):
            return True
        # Of `5843230` each digit counts, as of a number of an order.
        is_round = value % 10 == 0 and len(f"{value:.0f}".rstrip("0")) <= _MOST_ROUND
        if is_round and any(isclose(value, number, rel_tol=_NEAR) for number in self.stated):
            return True
        exact = chain(self.stated, self.computed, self.shares if claim.has_share else ())
        if any(_is_rounded(value, number) for number in exact):
            return True
        same = [value * 1.8 + 32, (value - 32) / 1.8] if claim.has_unit else []  # Celsius and Fahrenheit
        for factor in _INEXACT if claim.has_unit else ():
            same += [value * factor, value / factor]
        return any(isclose(number, other, rel_tol=_EXACT) for number in self.stated for other in same)

    def may_hold_both(self, value: float, less: float) -> bool:
        """Returns whether two numbers may be one of these together, as hours and minutes are."""
        for radix in _RADICES:
            whole, share = value * radix + less, round(value + less / radix, 4)
            if whole in self.minutes or whole in self.stated or share in self.stated:
                return True
        return (value * 60 + less) * 60 in self.stated


def _is_rounded(value: float, number: float) -> bool:
    """Returns whether a number is another one with fewer decimals."""
    decimals = len(f"{value:.15g}".partition(".")[2])
    return number != round(number, decimals) and abs(number - value) <= 0.5 * 10.0**-decimals


class ClaimedNumbers(NamedTuple):
    """Missing numbers of a claim, in their order, and what may stand between them and those of evidence.

    `factors` are its small numbers, as in `two tickets`.
    """

    values: Sequence[float]
    factors: Set[float]
    has_unit: bool
    has_share: bool


def claimed_numbers(text: str, values: Sequence[float], factors: Set[float] = frozenset()) -> ClaimedNumbers:
    """Returns missing numbers of a text, with the units in it."""
    return ClaimedNumbers(values, factors, *measured(text))


def may_follow(claim: ClaimedNumbers, evidence: Sequence[DerivedNumbers]) -> list[float]:
    """Returns the missing numbers of a claim that may follow from pieces of evidence."""
    amounts = {number for piece in evidence for number in piece.stated if number >= _LEAST_AMOUNT}
    if len(amounts) <= _MOST_AMOUNTS:
        evidence = [*evidence, DerivedNumbers(frozenset(), _of_pairs(list(amounts)))]
    following: list[float] = []
    for i, value in enumerate(claim.values):
        if any(piece.may_hold(value, claim) for piece in evidence):
            following.append(value)
        elif i and any(piece.may_hold_both(claim.values[i - 1], value) for piece in evidence):
            following += claim.values[i - 1 : i + 1]
    return following


def _of_pairs(numbers: Sequence[float]) -> set[float]:
    """Returns sums of two numbers, and differences that are not small, as many numbers of a text are."""
    sums = {round(left + right, 2) for left, right in combinations(numbers, 2)}
    differences = {round(abs(left - right), 2) for left, right in combinations(numbers, 2)}
    return sums | {difference for difference in differences if difference >= _LEAST_AMOUNT}


def derived_numbers(text: str, stated: Set[float]) -> DerivedNumbers:
    """Returns what may follow from a piece of evidence, given the numbers that stand in it."""
    minutes = set[float]()
    for hours, parts, seconds in _CLOCK.findall(text):
        clock = int(hours) * 60 + int(parts)
        # A time of day, also of twelve hours, or a duration, also of minutes and seconds.
        minutes |= {clock, clock - 720 if clock >= 780 else clock + 720}
        minutes |= {clock / 60} if not seconds else {clock + int(seconds) / 60}
    for units in _DURATION.findall(text):
        minutes.add(fsum(int(unit or 0) * size for unit, size in zip(units, _MINUTES, strict=True)))
    computed, shares = set[float](), set[float]()
    start, has_one = re.search(r"[{\[]", text), False
    waiting: list[JsonValue] = [json_structure(text[start.start() :])] if start else []
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
            waiting += value
    # Of 1, which stands in most texts, any unit would follow.
    stated = stated - {0.0, 1.0} | ({1.0} if has_one else set())
    return DerivedNumbers(stated, computed, shares, minutes)


def _number(value: JsonValue) -> float | None:
    if isinstance(value, str) and _NUMERAL.fullmatch(value):
        return float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) else None


def _cells(item: JsonValue, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yields the values of an entry of a list with their paths, without those of lists in it."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _cells(value, (*path, key))
    elif not isinstance(item, list):
        yield path, item


def _of_list(items: list[JsonValue]) -> set[float]:
    """Returns how many entries a list has, and how many are alike, with sums and means of its columns."""
    computed = {float(len(items))}
    for column in grouped(cell for item in items for cell in _cells(item)).values():
        computed |= {float(count) for count in Counter(map(repr, column)).values()}
        numbers = [number for value in column if (number := _number(value)) is not None]
        if len(numbers) > 1:
            total = fsum(numbers)
            computed |= {round(total, 2), total / len(numbers)}
    return computed


def _of_object(record: JsonObject) -> set[float]:
    """Returns what may follow from the values of a record by themselves.

    Sums, differences and products of its numbers, lengths between its dates in days, hours and minutes, and
    the amount of Google's Money (`units` and `nanos`).
    """
    numbers = [number for value in record.values() if (number := _number(value)) is not None]
    computed = {float(len(record)), *_of_pairs(numbers[:_MOST_SIBLINGS])}
    for left, right in combinations(numbers[:_MOST_SIBLINGS], 2):
        computed.add(round(left * right, 2))
    if "units" in record and "nanos" in record:
        computed.add((_number(record["units"]) or 0) + (_number(record["nanos"]) or 0) / 1e9)
    texts = [value for value in record.values() if isinstance(value, str)]
    moments = [readings[0] for text in texts[:_MOST_SIBLINGS] if (readings := read_dates(text))]
    for first, second in combinations(moments, 2):
        if first.day and second.day:
            computed.add(float(abs((first.day - second.day).days)))
        if first.instant and second.instant:
            seconds = abs((first.instant - second.instant).total_seconds())
            computed |= {seconds / 60, seconds / 3_600}
    return computed
