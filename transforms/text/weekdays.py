"""Reads the names of weekdays."""

import re

_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
)
WEEKDAYS = {
    f"{name}{ending}": day
    for names in _NAMES
    for day, name in enumerate(names.split())
    for ending in ("", "s")
}
"""Name in lower case -> 0..6, Monday first; with names of repeated days, as `sundays` and `sonntags`."""

WEEKDAY_CHARACTERS = {
    char: day for chars in ("月火水木金土日", "월화수목금토일") for day, char in enumerate(chars)
}
"""Character of a Japanese or Korean weekday -> 0..6."""

WEEKDAY_IN_CHARACTERS = r"([月火水木金土日])曜日?|([월화수목금토일])요일"
"""Pattern of a Japanese or Korean weekday; one of its two groups is the character."""

_WEEKDAY = re.compile(rf"{WEEKDAY_IN_CHARACTERS}|\b(?:{'|'.join(WEEKDAYS)})\b")


def weekdays_in(text: str) -> set[int]:
    """Returns the weekdays, 0..6, that a text names in one of six languages."""
    found = ((one[1] or one[2], one[0]) for one in _WEEKDAY.finditer(text.lower()))
    return {WEEKDAY_CHARACTERS[char] if char else WEEKDAYS[name] for char, name in found}
