"""Reads months, weekdays and units as values of which one may stand in the place of another."""

import re

from turnwise.transforms.text.function_words import MONTHS
from turnwise.transforms.text.words import words

_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
)
_UNITS = (
    "euro euros eur €",
    "dollar dollars usd $",
    "pound pounds gbp £",
    "yen jpy ¥ 円 엔",
    "won krw ₩ 원",
    "percent prozent % ％",
    "second seconds sekunde sekunden",
    "minute minutes minuten",
    "hour hours stunde stunden",
    "day days tag tage tagen",
    "week weeks woche wochen",
    "month months monat monate monaten",
    "year years jahr jahre jahren",
)
_NAMES = {
    **{name: ("month", value) for name, value in MONTHS.items()},
    **{name: ("weekday", day) for names in _WEEKDAYS for day, name in enumerate(names.split())},
    **{name: ("unit", unit) for unit, names in enumerate(_UNITS) for name in names.split()},
}
_DAYS = {
    **{name: ("weekday", day) for day, name in enumerate("月火水木金土日")},
    **{name: ("weekday", day) for day, name in enumerate("월화수목금토일")},
}
_IN_RUNS = re.compile(r"([月火水木金土日])曜日?|([월화수목금토일])요일|([€$£¥₩%％])|(?<=\d)\s?([円엔원])")

_DIGITS = re.compile(r"\d+")
_VERBS = re.compile(r"\b(?:may|march)\b")

NamedValue = tuple[str, int]


def other_named_value(said: str, held: str) -> tuple[str, str] | None:
    """Returns the names in which two clauses differ, if it is one of the same kind in each; else None."""
    ours, theirs = _named(said), _named(held)
    if ours.keys() == theirs.keys() or len(ours) != len(theirs):
        return None
    mine, other = ours.keys() - theirs.keys(), theirs.keys() - ours.keys()
    if len(mine) != 1 or len(other) != 1:
        return None
    (one,), (another,) = mine, other
    if one[0] != another[0] or (one[0] == "unit" and _DIGITS.findall(said) != _DIGITS.findall(held)):
        return None
    return ours[one], theirs[another]


def without_named_values(text: str) -> str:
    """Removes months, weekdays and units."""
    for name in _named(text).values():
        whole = r"(?<!\w){}(?!\w)" if name[0].upper() != name[0] else "{}"
        text = re.sub(whole.format(re.escape(name)), " ", text, flags=re.IGNORECASE)
    return text


def _named(text: str) -> dict[NamedValue, str]:
    text = _VERBS.sub(" ", text)  # in lower case
    found = {_NAMES[word.lower]: word.lower for word in words(text) if word.lower in _NAMES}
    for name in _IN_RUNS.finditer(text):
        day, sign = name[1] or name[2], name[3] or name[4]
        found[_DAYS[day] if day else _NAMES[sign]] = name[0].strip()
    return found
