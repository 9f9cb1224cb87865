"""Fills the date of a run into its options, and names the run by it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from hashlib import blake2b

from turnwise.pipeline.settings.config_file import read_config
from turnwise.pipeline.settings.dates import check_undated, filled, names_date, parse_dates
from turnwise.pipeline.settings.raw_options import RawOptions
from turnwise.pipeline.settings.rows_address import with_query_text
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


def check_range(options: RawOptions) -> None:
    """Checks the options of several runs, one a date: they read and write places of their own.

    Raises:
        ConfigError: Two of the runs would be the same, or use the same directory.
    """
    if not any(names_date(with_query_text(place)) for place in options.input or ()):
        raise ConfigError(f"--date {options.date}: all dates would read the same: put {{date}} into --input")
    if not names_date(options.output) and not options.estimate:
        raise ConfigError(f"--date {options.date}: one run a date: put {{date}} into --output")
    if options.run_id is not None and not names_date(options.run_id):
        raise ConfigError(f"--run_id {options.run_id}: is the id of several runs: put {{date}} into it")


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
