"""Dates of scheduled runs: `--date`, and `{date}` in places."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import TypeVar

from msgspec.structs import replace

from turnwise.pipeline.settings.options import RawOptions, shown_address, with_query_text
from turnwise.pipeline.settings.run import read_config
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.config import ConfigError

MOST_DATES = 366
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIELD = re.compile(r"\{date(?::(?P<form>[^{}]*))?\}")
_FORM = re.compile(r"(?:%[Ymdj]|[^%])+")
_FORMS = "an ISO date, yesterday, today (UTC), or a range A..B"

Filled = TypeVar("Filled", str, "str | None")


def parse_dates(text: str, now: datetime | None = None) -> list[date]:
    """Returns the dates that `--date` names, one, or a range with its ends, in order; raises ConfigError.

    `today` and `yesterday` are dates in UTC; `now` is the time, None: the clock's.
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
    """Returns the `number` dates before the first one, in order; raises ConfigError."""
    if not 0 <= number <= MOST_DATES:
        raise ConfigError(f"--lookback must lie between 0 and {MOST_DATES}, not {number}")
    try:
        return [days[0] - timedelta(back) for back in range(number, 0, -1)]
    except OverflowError:
        raise ConfigError(f"--lookback {number}: there are fewer dates before {days[0]}") from None


def names_date(path: str | None) -> bool:
    """Returns whether a place holds `{date}`."""
    return bool(path and _FIELD.search(path))


def check_undated(places: Iterable[tuple[str, str | None]]) -> None:
    """Raises ConfigError if a place holds `{date}`, and there is no `--date`."""
    for option, path in places:
        if names_date(path):
            raise ConfigError(f"{option} {path}: {{date}} needs --date ({_FORMS})")


def filled(option: str, path: Filled, day: date) -> Filled:
    """Returns a place with the date for `{date}` (ISO) and `{date:%Y%m%d}`; raises ConfigError."""

    def text(match: "re.Match[str]") -> str:
        form = match["form"]
        if form is None:
            return day.isoformat()
        if not _FORM.fullmatch(form):
            raise ConfigError(f"{option} {path}: {match[0]}: its form has %Y, %m, %d and %j only")
        return day.strftime(form.replace("%Y", f"{day.year:04}"))

    return path if path is None else _FIELD.sub(text, path)


def dated(options: RawOptions, content: Callable[[str], str]) -> RawOptions:
    """Returns the options of a run with its date in place of `{date}`, and with an id made of the date.

    `content` returns the digest of what a place of eval cases holds: changed ones make another run.
    Options without `--date` are returned as they are. Of a range, its first date counts. Raises ConfigError
    if `{date}` stands without `--date`, or `--date` without `{date}`.
    """
    if options.date is None:
        check_undated(_places(options))
        return options
    if not any(names_date(path) for _, path in _places(options)):
        raise ConfigError(
            f"--date {options.date}: no option holds {{date}}, such as --input 'logs/{{date}}/'"
        )
    day = parse_dates(options.date)[0]
    options_of_day = replace(
        options,
        date=day.isoformat(),
        input=[filled("--input", with_query_text(path), day) for path in options.input or ()],
        eval_cases=[filled("--eval_cases", path, day) for path in options.eval_cases or ()],
        output=filled("--output", options.output, day),
        store=filled("--store", options.store, day),
        run_id=filled("--run_id", options.run_id, day),
    )
    return replace(options_of_day, run_id=options_of_day.run_id or _run_id(options_of_day, day, content))


def _places(options: RawOptions) -> Iterator[tuple[str, str | None]]:
    yield from (("--input", with_query_text(path)) for path in options.input or ())
    yield from (("--eval_cases", path) for path in options.eval_cases or ())
    yield "--output", options.output
    yield "--baseline", options.baseline
    yield "--store", options.store
    yield "--run_id", options.run_id


def check_range(options: RawOptions, days: Sequence[date]) -> None:
    """Raises ConfigError if two of several runs would read the same, use one directory, or have one id.

    A place that holds the date in a form such as `{date:%m}` may still be the same for two of the dates.
    """
    inputs = [with_query_text(path) for path in options.input or ()]
    # Beside inputs of a date, there may be one that all dates share.
    for path in list(filter(names_date, inputs)) or inputs:
        _check_distinct("--input", path, days, "would read the same")
    if options.output and not options.estimate:
        _check_distinct("--output", options.output, days, "would have one output directory")
    if options.run_id:
        _check_distinct("--run_id", options.run_id, days, "would be one run, which replaces itself")


def _check_distinct(option: str, text: str, days: Sequence[date], what: str) -> None:
    """Raises ConfigError if an option is the same for two dates, given as dates in any order."""
    seen: dict[str, date] = {}
    for day in days:
        other = seen.setdefault(filled(option, text, day), day)
        if other != day:
            shown = shown_address(text)
            raise ConfigError(f"{option} {shown}: {other} and {day} {what}: put the whole {{date}} into it")


def _run_id(options: RawOptions, day: date, content: Callable[[str], str]) -> str:
    """Returns an id made of the date and a digest of inputs, eval cases and config: the same for the same."""
    stated = {
        "input": sorted(map(shown_place, options.input or ())),
        "input_format": options.input_format,
        "eval_cases": sorted(map(content, options.eval_cases or ())),
        "config": read_config(options.config).model_dump(mode="json"),
        "judge": [options.judge, options.judge_model, options.sample_rate],
    }
    digest = blake2b(json.dumps(stated, sort_keys=True).encode(), digest_size=4)
    return f"{day.isoformat()}-{digest.hexdigest()}"
