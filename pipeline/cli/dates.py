"""Runs a batch once for each of several dates."""

import traceback
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

from apache_beam.options.pipeline_options import GoogleCloudOptions

from turnwise.pipeline.batch.execution import Again, why_again
from turnwise.pipeline.cli.ending import Ending, ending_of
from turnwise.pipeline.cli.run_options import own_options, parse_options, raw_options
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.terminal import complain, counted, printable, say
from turnwise.pipeline.settings.dates import check_range, earlier_dates, parse_dates
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import error_text


class Dates(NamedTuple):
    """The dates of a command line.

    Attributes:
        named: The dates of `--date`, in order.
        before: The dates of `--lookback`, in order.
    """

    named: Sequence[date]
    before: Sequence[date]


Command = Callable[[Sequence[str]], int]


def dates_of(argv: Sequence[str]) -> Dates | None:
    """Returns the dates that a command line names; None: it runs once.

    Raises:
        ConfigError: There is no such date, or runs of several dates would use one place.
    """
    raw = raw_options(own_options(argv))[0]
    if raw.date is None:
        if raw.lookback is not None:
            raise ConfigError("--lookback needs --date")
        return None
    named = parse_dates(raw.date)
    before = earlier_dates(named, raw.lookback or 0)
    if len(named) + len(before) > 1:
        check_range(raw, [*before, *named])
    return Dates(named, before)


def run_dates(argv: Sequence[str], dates: Dates, run: Command) -> int:
    """Runs the command line for every date, whatever becomes of the others, and says how each one ended.

    Args:
        argv: The command line.
        dates: Its dates; those before the named ones run only where input files have changed.
        run: Runs the command line of one date and returns its exit status.

    Returns:
        The worst exit status.

    Raises:
        ConfigError: The options are wrong for every date; nothing was run.
    """
    lines = {day: _with_date(argv, day) for day in (*dates.before, *dates.named)}
    if len(lines) == 1:
        return run(lines[dates.named[0]])
    _check_options(lines[dates.named[0]], lines[dates.named[-1]])
    told: dict[date, Ending] = {}
    try:
        for day in dates.named:
            told[day] = _told(day, lines[day], run)
        for day in dates.before:
            told[day] = _told_again(day, lines[day], run)
    finally:  # also when a signal ends the command
        say("")
        for day in sorted(lines):
            say(f"{day}  {_line(told[day]) if day in told else 'interrupted, or not begun'}")
    return max(ending.status for ending in told.values())


def _line(ending: Ending) -> str:
    return f"exit status {ending.status}  {printable(ending.problem)}"


def _with_date(argv: Sequence[str], day: date) -> list[str]:
    return [*argv, "--date", day.isoformat()]


def _check_options(*lines: Sequence[str]) -> None:
    """Raises ConfigError if none of several command lines can be used, or they would make one template."""
    errors: list[ConfigError] = []
    for argv in lines:
        try:
            _, options = parse_options(argv)
        except ConfigError as error:
            errors.append(error)
        else:
            if options.view_as(GoogleCloudOptions).template_location:
                raise ConfigError("a template is one job: name one --date, without --lookback")
            return
    raise errors[0]


def _told(day: date, argv: Sequence[str], run: Command) -> Ending:
    say(f"\n{day}:")
    return _ended(argv, partial(run, argv))


def _ended(argv: Sequence[str], command: Callable[[], int]) -> Ending:
    """Runs one date; returns its exit status and what is said of it in the end."""
    try:
        ending = ending_of(command)
    except Exception as error:  # whatever a runner raises: the other dates go on
        traceback.print_exc()
        ending = Ending(1, error_text(error))
    if ending.problem:
        complain(ending.problem)
        return ending
    return ending._replace(problem=_summary(parse_options(argv)[0]))


def _summary(settings: RunSettings) -> str:
    if settings.judge.only_estimates:
        return "only estimated"
    try:
        document = open_run(settings.output).document
    except (ConfigError, OSError) as error:
        return str(error)
    conversations = counted(document.counts["conversations"], "conversation")
    return "; ".join((f"{conversations} in {settings.output}", *document.problems))


def _told_again(day: date, argv: Sequence[str], run: Command) -> Ending:
    found: list[Again] = []

    def look() -> int:
        found.append(why_again(parse_options(argv)[0]))
        return 0

    ending = ending_of(look)
    if ending.problem:
        complain(f"{day}: {ending.problem}")
        return ending
    [again] = found
    if not again.runs:
        return Ending(again.status, f"not run again: {again.why}")
    say(f"\n{day}: run again: {printable(again.why)}")
    ending = _ended(argv, partial(run, argv))
    return Ending(ending.status, f"run again: {again.why}: {ending.problem}")
