"""Reads the names of weekdays."""

import re

_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
)
WEEKDAYS = {name: day for names in _NAMES for day, name in enumerate(names.split())}
"""Name in lower case -> 0..6, Monday first."""

_CHARACTERS = {char: day for chars in ("月火水木金土日", "월화수목금토일") for day, char in enumerate(chars)}
_WORD = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b|([月火水木金土日])曜|([월화수목금토일])요일")


def weekdays_in(text: str) -> set[int]:
    """Returns the weekdays, 0..6, that a text names in one of six languages."""
    found = _WORD.finditer(text.lower())
    return {_CHARACTERS[char] if (char := one[1] or one[2]) else WEEKDAYS[one[0]] for one in found}
