"""Parses the command line of `turnwise run`: turnwise's options and Beam's."""

import argparse
import os
import traceback
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

from apache_beam.options import pipeline_options as beam_options
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import PipelineRunner, create_runner
from msgspec.structs import replace

from turnwise.pipeline.batch.execution import FIRST_RUN, Again, BeamOptions, why_again, why_empty
from turnwise.pipeline.batch.processes import fit_processes
from turnwise.pipeline.cli.arguments import add_arguments
from turnwise.pipeline.io.files import agent_inputs, content_digest, other_files, reads_output
from turnwise.pipeline.io.sinks import SINKS, check_appends, file_formats, find_service
from turnwise.pipeline.io.terminal import complain, printable, say
from turnwise.pipeline.report.terminal import divided_text
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings import remote_workers
from turnwise.pipeline.settings import run as run_settings
from turnwise.pipeline.settings.options import Ending, OptionParser, RawOptions, ending_of
from turnwise.pipeline.store.urls import shown_place
from turnwise.pipeline.streaming.inputs.open import input_kind
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import counted, is_local, is_store_url, listed
from turnwise.schemas.registry import error_text, is_file

# Beam's DirectRunner would first try to download another engine.
_IN_PROCESS = "FnApiRunner"
_OTHERS_SHOWN = 5
_STREAMS_IN_PROCESS = "DirectRunner"
"""Beam's name; a stream in this process is a loop of turnwise, without a runner."""


class EvalOptions(PipelineOptions):
    """turnwise's options, declared as Beam options."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)


def parse_options(argv: Sequence[str]) -> tuple[run_settings.RunSettings, PipelineOptions]:
    """Returns the settings of a command line, and Beam's options; raises ConfigError if one is wrong."""
    _reject_unknown(argv)
    options = BeamOptions(list(argv))
    raw, stream = raw_options(argv)
    standard = options.view_as(beam_options.StandardOptions)
    name = standard.runner or "DirectRunner"
    in_process = _STREAMS_IN_PROCESS if standard.streaming else _IN_PROCESS
    standard.runner = in_process if name.lower() == "directrunner" else name
    is_here = standard.runner == in_process
    direct = options.view_as(beam_options.DirectOptions)
    if is_here and (direct.direct_num_workers != 1 or direct.direct_running_mode != "in_memory"):
        raise ConfigError("--direct_num_workers, --direct_running_mode: take --workers N instead")
    raw = run_settings.dated(raw, content_digest)
    service = SINKS.load().get(raw.output_format)
    if service is not None and service.schemes:
        where = f"is no format of files: write tables there by {service.option} ({service.help})"
        raise ConfigError(f"--output_format {raw.output_format}: {where}")
    SINKS.find(raw.output_format, "--output_format ", file_formats())
    if raw.store is not None:
        raw = replace(raw, store=find_service("--store", raw.store).absolute(raw.store))
    if raw.scores_to is not None:
        find_service("--scores_to", raw.scores_to)
    if not standard.streaming:
        inputs = agent_inputs(raw.input, raw.eval_cases, raw.config)
        config = next(iter(inputs.configs), None)
        raw = replace(raw, input=inputs.logs, eval_cases=inputs.cases, config=config)
    settings = run_settings.check_options(raw, stream, not is_here, bool(standard.streaming))
    setup = options.view_as(beam_options.SetupOptions)
    setup.save_main_session = False
    modules = [plugin for plugin in settings.plugins if not is_file(plugin)]
    setup.beam_plugins = [*(setup.beam_plugins or ()), *modules]
    if "dataflow" in standard.runner.lower():
        declared.check_extra(f"--runner={standard.runner}", "turnwise[gcp]")
    try:
        runner = create_runner(standard.runner)
    except (ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"--runner={standard.runner}: {' '.join(str(error).split())}") from None
    settings = remote_workers.fit_workers(settings, options, runner, os.environ)
    settings = fit_processes(settings, raw.workers)
    settings = remote_workers.fit_limits(settings, options, runner)
    _check_extras(settings)
    _check_output(settings)
    remote_workers.check_runner_access(runner, options)
    _check_runner(options, standard.runner, runner)
    # Beam passes these to runners, which show them; the settings have them with their passwords.
    shown: Any = options.view_as(EvalOptions)
    shown.alerts = None  # the address of a webhook may be secret
    shown.store, shown.judge_cache, shown.scores_to = (
        name and shown_place(name) for name in (shown.store, shown.judge_cache, shown.scores_to)
    )
    shown.input, shown.eval_cases = (
        [shown_place(path) for path in paths or ()] for paths in (shown.input, shown.eval_cases)
    )
    if divided := divided_text(settings):
        complain(divided)
    return settings, options


def other_files_text(settings: run_settings.RunSettings) -> str:
    """Returns what is said of the files of directories that are not read because of their names, or ""."""
    others = other_files((*settings.input, *settings.eval_cases))
    names = listed(others, _OTHERS_SHOWN)
    return f"not looked at, by their names: {counted(len(others), 'file')} ({names})" if others else ""


def raw_options(argv: Sequence[str]) -> tuple[RawOptions, dict[str, float | str]]:
    """Returns turnwise's own options that are given, or have a default: of all runs, and of streams.

    Raises ConfigError for a wrong value.
    """
    parser = OptionParser(add_help=False)
    add_arguments(parser)
    stated = vars(parser.parse_known_args(list(argv))[0])
    given = {name: value for name, value in stated.items() if value is not None}
    stream, judging = (
        {name: given.pop(name) for name in names if name in given}
        for names in (declared.STREAM_OPTIONS, declared.RawJudgeOptions.__struct_fields__)
    )
    return RawOptions(judging=declared.RawJudgeOptions(**judging), **given), stream


def _check_extras(settings: run_settings.RunSettings) -> None:
    streams = [name for name in settings.input if input_kind(name)]
    if streams and not settings.is_streaming:
        raise ConfigError(f"--input {streams[0]}: is read by a stream only; add --streaming")
    declared.check_places("--input", [path for path in settings.input if path not in streams])
    declared.check_places("--eval_cases", settings.eval_cases)
    declared.check_places("--output", [settings.output])
    for sink_place in settings.places:
        if settings.is_streaming:
            check_appends(sink_place)
        find_service(sink_place.option, sink_place.url).check(sink_place.option, sink_place.url)
    cache = settings.judge.config.cache
    if cache and is_store_url(cache):
        declared.check_store("--judge_cache", cache)


def _check_output(settings: run_settings.RunSettings) -> None:
    """Raises ConfigError if an input would read what the run writes, or is a wrong glob."""
    named = [("--input", path) for path in settings.input]
    for option, path in [*named, *(("--eval_cases", path) for path in settings.eval_cases)]:
        try:
            is_inside = reads_output(path, settings.output)
        except ValueError as error:
            if os.path.lexists(path):  # a file of such a name
                continue
            raise ConfigError(f"{option} {path}: {error}") from None
        if is_inside and settings.output:
            what = f": lies in {option} {path}, so a run would read the tables of an earlier one"
            raise ConfigError(f"--output {settings.output}{what}; name a directory outside of it")


def _check_runner(options: PipelineOptions, name: str, runner: PipelineRunner) -> None:
    """Raises ConfigError for a missing or wrong option; for Dataflow, Beam may wait minutes for Storage."""
    try:
        problems = PipelineOptionsValidator(options, runner).validate()
    except Exception as error:  # of Beam's validators, or of Google's clients
        raise ConfigError(f"--runner={name}: {' '.join(str(error).split())}") from None
    if problems:
        raise ConfigError(f"--runner={name}: {' '.join(problem.strip() for problem in problems)}")


def _reject_unknown(argv: Sequence[str]) -> None:
    form = "turnwise run --input PATH [PATH ...] --output DIR [options]"
    parser = OptionParser(add_help=False, conflict_handler="resolve", usage=form)
    groups: list[type[PipelineOptions]] = PipelineOptions.__subclasses__()
    for group in groups:  # which grows by the subclasses of each
        groups += group.__subclasses__()
        group._add_argparse_args(parser)  # type: ignore[arg-type]
    parser.parse_args(list(argv))


Command = Callable[[Sequence[str]], int]


def dates_of(argv: Sequence[str]) -> tuple[list[date], list[date]]:
    """Returns the dates of `--date` and `--lookback`, in order (none: it runs once); raises ConfigError."""
    raw = raw_options(argv)[0]
    if raw.date is None:
        if raw.lookback is not None:
            raise ConfigError("--lookback needs --date")
        if raw.empty_dates != "fail":
            raise ConfigError("--empty_dates needs --date")
        return [], []
    named = run_settings.parse_dates(raw.date)
    before = run_settings.earlier_dates(named, raw.lookback or 0)
    if len(named) + len(before) > 1:
        run_settings.check_range(raw, [*before, *named])
    for pattern in filter(run_settings.names_date, raw.input if raw.empty_dates != "fail" else ()):
        folder = os.path.dirname(pattern.partition("{date")[0]) or "."
        if is_local(pattern) and not os.path.isdir(folder):
            raise ConfigError(f"--input {pattern}: no date has input: there is no directory {folder}")
    return named, before


def run_dates(argv: Sequence[str], run: Command) -> int:
    """Runs the command line for every date, whatever becomes of the others, and says how each one ended.

    Returns the worst exit status. Raises ConfigError if the options are wrong for every date; nothing ran.
    """
    named, before = dates_of(argv)
    if not named:
        return run(argv)
    raw = raw_options(argv)[0]
    parser = OptionParser(add_help=False)
    parser.add_argument("--date")
    others = parser.parse_known_args(list(argv))[1]
    if len(before) + len(named) > 1 or raw.empty_dates != "fail":  # once, not for every date
        for address in raw.input:
            path = "" if declared.is_bigquery(address) else address
            declared.check_google(f"--input {shown_place(address)}", path)
    lines = {day: [*others, "--date", day.isoformat()] for day in (*before, *named)}
    if len(lines) == 1:
        [(day, argv_of_day)] = lines.items()
        ending = _looked(day, argv_of_day, raw.empty_dates, is_before=False)
        if isinstance(ending, str):
            return run(argv_of_day)
        say(f"{day}  exit status {ending.status}  {printable(ending.problem)}")
        return ending.status
    _check_options(lines[named[0]], lines[named[-1]])
    endings: dict[date, Ending] = {}
    try:
        for day in lines:  # earlier ones first: a later one may be compared with them
            looked = _looked(day, lines[day], raw.empty_dates, is_before=day in before)
            if isinstance(looked, str):
                say(f"\n{day}: {printable(looked)}".rstrip())
                ended = _ended(lines[day], partial(run, lines[day]))
                looked = ended._replace(problem=": ".join(filter(None, (looked, ended.problem))))
            endings[day] = looked
    finally:  # also when a signal ends the command
        say("")
        for day in sorted(lines):
            line = "interrupted, or not begun"
            if (known := endings.get(day)) is not None:
                line = f"exit status {known.status}  {printable(known.problem)}"
            say(f"{day}  {line}")
    return max(ending.status for ending in endings.values())


def _check_options(*lines: Sequence[str]) -> None:
    """Raises ConfigError if none of several command lines can be used, or they would make one template."""
    errors: list[ConfigError] = []
    for argv in lines:
        try:
            _, options = parse_options(argv)
        except ConfigError as error:
            errors.append(error)
        else:
            if options.view_as(beam_options.GoogleCloudOptions).template_location:
                raise ConfigError("a template is one job: name one --date, without --lookback")
            return
    raise errors[0]


def _ended(argv: Sequence[str], command: Callable[[], int]) -> Ending:
    try:
        ending = ending_of(command)
    except Exception as error:  # whatever a runner raises: the other dates go on
        traceback.print_exc()
        ending = Ending(1, error_text(error))
    if ending.problem:
        complain(ending.problem)
        return ending
    settings = parse_options(argv)[0]
    if settings.judge.only_estimates:
        return ending._replace(problem="only estimated")
    try:
        document = open_run(settings.output).document
    except (ConfigError, OSError) as error:
        return ending._replace(problem=str(error))
    conversations = counted(document.counts["conversations"], "conversation")
    return ending._replace(problem="; ".join((f"{conversations} in {settings.output}", *document.problems)))


def _looked(day: date, argv: Sequence[str], empty: declared.EmptyDates, is_before: bool) -> Ending | str:
    """Returns how a date ends that does not run, or of which that cannot be known; else why it runs again."""
    if empty == "fail" and not is_before:
        return ""
    reasons: list[Again | None] = []

    def command() -> int:
        settings = parse_options(argv)[0]
        if is_before:
            reasons.append(why_again(settings, empty != "fail"))
        else:
            reasons.append(why_empty(settings.input, settings.output))
        return 0

    ending = ending_of(command)
    if ending.problem:
        complain(f"{day}: {ending.problem}")
        return ending
    again = reasons[0]
    if again is None:
        return ""
    if again.runs:
        return again.why if again.why == FIRST_RUN else f"run again: {again.why}"
    if again.is_quiet and empty == "warn":
        complain(f"{day}: {again.why}")
    return Ending(again.status, f"not run{' again' if is_before else ''}: {again.why}")
