"""Implements `turnwise judge-check`: how stable the verdicts of a judge are. Without Beam."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from turnwise.pipeline.cli.arguments import add_judge_arguments, add_paths, add_reading_arguments
from turnwise.pipeline.io.terminal import complain, counted, say
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import load_plugins

if TYPE_CHECKING:
    from turnwise.pipeline.settings.run import RunSettings
    from turnwise.schemas.calibration import JudgeCheck
    from turnwise.transforms.criteria.base import Criterion


_FILE = "judge_check.json"
_ONE_MODEL = {"panel": (), "cascade": None}


def check_judge_verdicts(argv: Sequence[str]) -> int:
    """Prints what a check would cost and, with `--yes`, how often verdicts of the judge change.

    Returns:
        Exit status: 0: measured; 1: nothing was asked, something was not measured, or `--max_flip` is
        exceeded.

    Raises:
        ConfigError: An option, the config, a path or the judge is wrong.
    """
    options = judge_check_parser().parse_args(argv)
    load_plugins(options.plugin)
    _check(options)
    settings = _settings(options)
    # Imported late: an error in the options does not wait for it.
    from turnwise.pipeline.report.judge_check import CheckOptions, checked

    stated = {name: getattr(options, name) for name in CheckOptions.__struct_fields__}
    check = checked(settings, CheckOptions(**stated), complain if options.format == "json" else say)
    _show(check, options)
    if check.records_lost:
        complain(
            f"{counted(check.records_lost, 'record')} could not be read, and the sample is of the others"
        )
    for problem in check.problems:
        complain(problem)
    return 1 if check.problems else 0


def _check(options: Namespace) -> None:
    if options.votes < 3 or options.votes % 2 == 0:
        raise ConfigError(f"--votes {options.votes}: must be an odd number from 3 on, so that votes decide")
    if options.sample < 1:
        raise ConfigError(f"--sample {options.sample}: must be 1 or more")
    if options.max_flip is not None and not 0 <= options.max_flip <= 1:
        raise ConfigError(f"--max_flip {options.max_flip:g}: must lie between 0 and 1")


def _settings(options: Namespace) -> "RunSettings":
    from turnwise.pipeline.settings.options import RawJudgeOptions
    from turnwise.pipeline.settings.run import RunSettings, judge_settings, judged_by, read_config, run_info
    from turnwise.transforms.formats.registry import check_log_format
    from turnwise.transforms.scoring.config import build_criteria

    check_log_format(options.input_format)
    config = read_config(options.config)
    criteria, run = build_criteria(config), run_info(None, config)
    stated = config.judge
    if options.judge_model:
        criteria = tuple(_without_others(each) for each in criteria)
        stated = stated.model_copy(update=_ONE_MODEL)
    named = ("judge", "judge_model", "judge_concurrency", "judge_cache")
    raw = RawJudgeOptions(**{name: getattr(options, name) for name in named})
    judge = judge_settings(raw, stated, run.run_id, criteria)
    return RunSettings(
        run=judged_by(run, judge),
        config=config,
        criteria=criteria,
        judge=judge,
        input=tuple(options.input),
        input_format=options.input_format,
        eval_cases=tuple(options.eval_cases or ()),
    )


def _without_others(criterion: "Criterion") -> "Criterion":
    """Returns a criterion that asks no panel and no cascade."""
    from turnwise.transforms.criteria.base import JudgedCriterion

    if not isinstance(criterion, JudgedCriterion):
        return criterion
    return criterion.asking(criterion.judge_model_options.without_others())


def _show(check: "JudgeCheck", options: Namespace) -> None:
    from turnwise.pipeline.judge_check.text import check_text

    document = msgspec.json.format(msgspec.json.encode(check), indent=2)
    if options.output and check.used is not None:
        _write(Path(options.output), document)
    if options.format == "json":
        say(document.decode())
    elif check.used is not None:
        say(check_text(check))
        if options.output:
            say(f"file: {options.output}/{_FILE}")


def _write(directory: Path, document: bytes) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _FILE).write_bytes(document + b"\n")
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror or error}") from None


def judge_check_parser() -> OptionParser:
    """Returns the parser of `turnwise judge-check`."""
    parser = OptionParser(
        prog="turnwise judge-check",
        description="Asks a judge the questions of a sample of conversations several times: as they are "
        "(repeat), with what is interchangeable in another order (swap), and with the instructions in other "
        "words (paraphrase). Says of each criterion how many verdicts change.",
        allow_abbrev=False,
    )
    add_paths(parser, "--input", "conversation logs: files, directories, globs (required)", required=True)
    add_paths(parser, "--eval_cases", "eval cases: files, directories, globs or URLs of stores")
    add_reading_arguments(parser, "criteria and the section `judge`: ADK's EvalConfig JSON")
    add_judge_arguments(parser)
    numbers = (
        ("--sample", 20, "conversations to draw, of those about which something is asked (default: 20)"),
        ("--votes", 3, "how often each question is asked in each form, an odd number (default: 3)"),
        ("--seed", 0, "another seed draws other conversations (default: 0)"),
    )
    for name, default, text in numbers:
        parser.add_argument(name, type=int, default=default, metavar="N", help=text)
    parser.add_argument(
        "--max_flip",
        type=float,
        metavar="SHARE",
        help="exit 1 if a larger share (0..1) of a criterion's verdicts changes, or might",
    )
    parser.add_argument(
        "--yes", action="store_true", help="ask the judge; without it only the cost is estimated"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output (default: text)")
    parser.add_argument("--output", metavar="DIR", help=f"directory for {_FILE}")
    return parser
