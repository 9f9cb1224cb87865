"""Reads months, weekdays, halves of the day and units as values of which one may replace another."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from turnwise.transforms.text.function_words import MONTHS
from turnwise.transforms.text.weekdays import WEEKDAY_CHARACTERS, WEEKDAY_IN_CHARACTERS, WEEKDAYS

_CURRENCIES = (
    "euro euros eur € ユーロ 유로",
    "dollar dollars dólar dólares usd $ ドル 달러",
    "pound pounds libra libras gbp £ lb lbs pfund ポンド 파운드",
    "yen jpy ¥ 円 엔",
    "won krw ₩ 원 ウォン",
    "franc francs franken chf",
)
_UNITS = (
    *_CURRENCIES,
    "percent prozent pourcent % ％ パーセント 퍼센트",
    "s sec second seconds sekunde sekunden seconde secondes segundo segundos 秒 초",
    "min mins minute minutes minuten minuto minutos 分間 분간",
    "h hr hrs hour hours std stunde stunden heure heures hora horas 時間 시간",
    "day days tag tage tagen jour jours día días 日間 일간",
    "week weeks woche wochen semaine semaines semana semanas 週間 주간",
    "month months monat monate monaten mois mes meses か月 ヶ月 개월",
    "year years jahr jahre jahren ans année années año años 年間 년간",
    "kg kilo kilos kilogram kilograms kilogramm キロ 킬로",
    "g gram grams gramm グラム 그램",
    "mg milligram milligrams milligramm",
    "ton tons tonne tonnes tonnen トン 톤",
    "kb kilobyte kilobytes",
    "mb megabyte megabytes",
    "gb gigabyte gigabytes",
    "tb terabyte terabytes",
    "km kilometer kilometers kilometre kilometres kilometern",
    "mile miles meile meilen マイル 마일",
    "km/h kmh kph",
    "mph",
    "m/s",
    "m meter meters metre metres metern メートル 미터",
    "cm centimeter centimeters centimetre centimetres zentimeter",
    "mm millimeter millimeters millimetre millimetres",
    "ft foot feet",
    "inch inches zoll インチ 인치",
    "liter liters litre litres litern リットル 리터",
    "celsius °c ℃",
    "fahrenheit °f ℉",
)
_WEIGHTS = ("pound", "pounds", "lb", "lbs", "pfund", "ポンド", "파운드")
_HALVES = ("am a.m 午前 오전", "pm p.m 午後 오후")


class NamedValue(NamedTuple):
    """A month, weekday, half of the day or unit: its kind, and its number among those of the kind."""

    kind: str
    number: int


def _named(kind: str, names: tuple[str, ...]) -> dict[str, NamedValue]:
    return {name: NamedValue(kind, number) for number, row in enumerate(names) for name in row.split()}


_WORDS = {
    **{name: NamedValue("month", number) for name, number in MONTHS.items()},
    **{name: NamedValue("weekday", day) for name, day in WEEKDAYS.items()},
}
_DAYS = {char: NamedValue("weekday", day) for char, day in WEEKDAY_CHARACTERS.items()}
_OF_NUMBERS = _named("unit", _UNITS) | _named("half", _HALVES)
_SIGNS = re.compile(r"([€$£¥₩])\s?(\d(?:[\d.,]{0,20}\d)?)")
_LONGEST_FIRST = [re.escape(name) for name in sorted(_OF_NUMBERS, key=len, reverse=True)]
_SPACED = "|".join(name for name in _LONGEST_FIRST if name[-1].isascii())
_UNIT = rf"(?:{_SPACED})(?![A-Za-zÀ-ÿ])|" + "|".join(
    name for name in _LONGEST_FIRST if not name[-1].isascii()
)
_NUMBER = r"\d(?:\s?(?:[万億千만억천]|thousand|million|billion|Millionen|Milliarden))?"
_FOUND = re.compile(
    rf"(?P<half>午前|午後|오전|오후)(?=\s?\d)|(?P<number>{_NUMBER})[\s-]?(?P<unit>{_UNIT})|{WEEKDAY_IN_CHARACTERS}"
    rf"|\b(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_VERBS = ("may", "march", "mar", "sept", "dec", "jan")
_MARK = "zq{}{:02}"


def mark_named_values(text: str, names: dict[str, str]) -> str:
    """Replaces named values by one token each, the same for all names of a value.

    Args:
        text: A text.
        names: Receives token -> name in the text.
    """

    def mark(found: re.Match[str]) -> str:
        name = found["half"] or found["unit"] or found["word"] or found[0]
        if found["word"] and name in _VERBS:
            return found[0]
        value = _DAYS.get(found[4] or found[5] or "") or _value(name.lower())
        token = _MARK.format(value.kind, value.number)
        names.setdefault(token, name.lower())
        return f"{found['number'] or ''} {token} "

    return _FOUND.sub(mark, _SIGNS.sub(r"\2 \1", text))


def other_currency(text: str, currency: str, known: Iterable[str]) -> str | None:
    """Returns the only currency of a text, if it is another one than that of a record and nothing names it.

    Args:
        text: The text.
        currency: The currency of the record.
        known: Texts that may name the other currency as well.
    """
    held, names = _OF_NUMBERS.get(currency.lower()), dict[str, str]()
    mark_named_values(text, names)
    said = {_OF_NUMBERS.get(name) for name in names.values() if name not in _WEIGHTS}
    found = [value for value in said if value and value.kind == "unit" and value.number < len(_CURRENCIES)]
    if held is None or len(found) != 1 or held in found:
        return None
    row = _CURRENCIES[found[0].number].split()
    if any(name in piece.lower() for piece in known for name in row):
        return None
    return next(name for name in names.values() if name in row)


def _value(name: str) -> NamedValue:
    return _WORDS.get(name) or _OF_NUMBERS[name]
