"""Dates of scheduled runs: `--date`, and `{date}` in places."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from turnwise.schemas.config import ConfigError

MOST_DATES = 366
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIELD = re.compile(r"\{date(?::(?P<form>[^{}]*))?\}")
_FORM = re.compile(r"(?:%[Ymdj]|[^%])+")
_FORMS = "an ISO date, yesterday, today (UTC), or a range A..B"

Filled = TypeVar("Filled", str, "str | None")


def parse_dates(text: str, now: datetime | None = None) -> list[date]:
    """Returns the dates that `--date` names, in order.

    Args:
        text: A date, or a range of dates with both its ends.
        now: The time; None: the clock's. `today` and `yesterday` are dates in UTC.

    Raises:
        ConfigError: There is no such date, the range is turned round, or it is too long.
    """
    today = (now or datetime.now(UTC)).astimezone(UTC).date()
    first, dots, last = text.partition("..")
    start = _date(first, text, today)
    end = _date(last, text, today) if dots else start
    if end < start:
        raise ConfigError(f"--date {text}: the range is turned round: {end} is before {start}")
    days = (end - start).days + 1
    if days > MOST_DATES:
        raise ConfigError(f"--date {text}: {days} dates, of which one command runs {MOST_DATES} at most")
    return [start + timedelta(number) for number in range(days)]


def _date(word: str, text: str, today: date) -> date:
    relative = {"today": 0, "yesterday": 1}
    if word in relative:
        return today - timedelta(relative[word])
    if not _ISO.fullmatch(word):
        raise ConfigError(f"--date {text}: is none of {_FORMS}")
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise ConfigError(f"--date {text}: there is no date {word}") from None


def earlier_dates(days: Sequence[date], number: int) -> list[date]:
    """Returns the `number` dates before the first one, in order.

    Raises:
        ConfigError: The number is out of its range.
    """
    if not 0 <= number <= MOST_DATES:
        raise ConfigError(f"--lookback must lie between 0 and {MOST_DATES}, not {number}")
    try:
        return [days[0] - timedelta(back) for back in range(number, 0, -1)]
    except OverflowError:
        raise ConfigError(f"--lookback {number}: there are fewer dates before {days[0]}") from None


def names_date(place: str | None) -> bool:
    """Returns whether a place holds `{date}`."""
    return bool(place and _FIELD.search(place))


def check_undated(places: Iterable[tuple[str, str | None]]) -> None:
    """Raises ConfigError if a place holds `{date}`, and there is no `--date`."""
    for option, place in places:
        if names_date(place):
            raise ConfigError(f"{option} {place}: {{date}} needs --date ({_FORMS})")


def filled(option: str, place: Filled, day: date) -> Filled:
    """Returns a place with the date in place of `{date}` (ISO) and `{date:%Y%m%d}`.

    Raises:
        ConfigError: The form of a date is not known.
    """

    def text(found: "re.Match[str]") -> str:
        form = found["form"]
        if form is None:
            return day.isoformat()
        if not _FORM.fullmatch(form):
            raise ConfigError(f"{option} {place}: {found[0]}: its form has %Y, %m, %d and %j only")
        return day.strftime(form.replace("%Y", f"{day.year:04}"))

    return place if place is None else _FIELD.sub(text, place)
