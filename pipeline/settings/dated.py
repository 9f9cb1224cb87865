"""Fills the date of a run into its options, and names the run by it."""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from hashlib import blake2b

from msgspec.structs import replace

from turnwise.pipeline.settings.config_file import read_config
from turnwise.pipeline.settings.dates import check_undated, filled, names_date, parse_dates
from turnwise.pipeline.settings.options import shown_address, with_query_text
from turnwise.pipeline.settings.raw_options import RawOptions
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.config import ConfigError


def dated(options: RawOptions) -> RawOptions:
    """Returns the options of a run with its date in place of `{date}`, and with an id made of the date.

    Options without `--date` are returned as they are. Of a range, its first date counts.

    Raises:
        ConfigError: `{date}` stands without `--date`, or `--date` without `{date}`.
    """
    if options.date is None:
        check_undated(_places(options))
        return options
    if not any(names_date(place) for _, place in _places(options)):
        raise ConfigError(
            f"--date {options.date}: no option holds {{date}}, such as --input 'logs/{{date}}/'"
        )
    day = parse_dates(options.date)[0]
    found = replace(
        options,
        date=day.isoformat(),
        input=[filled("--input", with_query_text(place), day) for place in options.input or ()],
        eval_cases=[filled("--eval_cases", place, day) for place in options.eval_cases or ()],
        output=filled("--output", options.output, day),
        store=filled("--store", options.store, day),
        run_id=filled("--run_id", options.run_id, day),
    )
    return replace(found, run_id=found.run_id or _run_id(found, day))


def _places(options: RawOptions) -> Iterator[tuple[str, str | None]]:
    """Yields the options that may hold `{date}`."""
    yield from (("--input", with_query_text(place)) for place in options.input or ())
    yield from (("--eval_cases", place) for place in options.eval_cases or ())
    yield "--output", options.output
    yield "--store", options.store
    yield "--run_id", options.run_id


def check_range(options: RawOptions, days: Sequence[date]) -> None:
    """Checks the options of several runs, one a date: each has inputs, an output and an id of its own.

    A place that holds the date in a form such as `{date:%m}` may still be the same for two of the dates.

    Raises:
        ConfigError: Two of the runs would read the same, use the same directory, or have the same id.
    """
    inputs = [with_query_text(place) for place in options.input or ()]
    # Beside inputs of a date, there may be one that all dates share.
    for place in list(filter(names_date, inputs)) or inputs:
        _check_distinct("--input", place, days, "would read the same")
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


def _run_id(options: RawOptions, day: date) -> str:
    """Returns an id made of the date and a digest of inputs and config: the same for the same command."""
    stated = {
        "input": sorted(map(shown_place, options.input or ())),
        "input_format": options.input_format,
        "eval_cases": sorted(map(shown_place, options.eval_cases or ())),
        "config": read_config(options.config).model_dump(mode="json"),
        "judge": [options.judge, options.judge_model, options.sample_rate],
    }
    digest = blake2b(json.dumps(stated, sort_keys=True).encode(), digest_size=4)
    return f"{day.isoformat()}-{digest.hexdigest()}"
