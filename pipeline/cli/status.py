"""The command `turnwise status`. Without Beam, unless the directory is remote."""

from collections.abc import Sequence
from datetime import datetime

from turnwise.pipeline.cli.arguments import add_plugin_argument
from turnwise.pipeline.io.listing import RUN_FOLDER
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.terminal import complain, counted, printable, say
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import load_plugins
from turnwise.schemas.run import RunDocument
from turnwise.transforms.text.dates import time_seconds


def status_parser() -> OptionParser:
    """Returns the parser of `turnwise status`."""
    parser = OptionParser(
        prog="turnwise status",
        description="Says how the run in an output directory ended, and exits with the status of that run.",
        epilog="Exit status: that of the run, 0 or 1; 2: no finished run, files missing, or an earlier run.",
        allow_abbrev=False,
    )
    parser.add_argument("output", metavar="OUT", help="output directory of a run")
    parser.add_argument(
        "--after",
        metavar="TIME",
        help="refuse a run that began before TIME (2026-11-22T02:15:00Z): an earlier one stays current until "
        "another has finished",
    )
    add_plugin_argument(parser)
    return parser


def status_of_run(argv: Sequence[str]) -> int:
    """Prints how a finished run ended.

    Returns:
        Exit status of the run.

    Raises:
        ConfigError: The directory holds no finished run, files of it are missing, or it is an earlier one.
    """
    options = status_parser().parse_args(list(argv))
    load_plugins(options.plugin)
    after = None if options.after is None else time_seconds(options.after)
    if options.after is not None and after is None:
        raise ConfigError(f"--after {options.after}: is no time such as 2026-11-22T02:15:00Z")
    document = open_run(options.output).document
    if after is not None:
        _check_start(options.output, document, after, options.after)
    for problem in document.problems:
        complain(problem)
    results = counted(_results(options.output, document), "conversation")
    ended = f", ended {document.end_time}" if document.end_time else ""
    say(printable(f"{document.run_id}{ended}: {results}, exit status {document.exit_status}"))
    return document.exit_status


def _results(directory: str, document: RunDocument) -> int:
    """Returns the number of scored conversations.

    Raises:
        ConfigError: `run.json` does not state it.
    """
    number = document.counts.get("results")
    if not isinstance(number, int):
        raise ConfigError(f"{directory}: run.json does not state how many conversations were scored")
    return number


def _check_start(directory: str, document: RunDocument, after: float, text: str) -> None:
    named = RUN_FOLDER.fullmatch(document.folder)
    began = document.create_time
    if named:
        began = datetime.strptime(named[1], "%Y%m%dT%H%M%SZ").strftime("%Y-%m-%dT%H:%M:%SZ")
    seconds = time_seconds(began)
    if seconds is None or seconds < int(after):
        raise ConfigError(
            f"{directory}: no run that began since {text} has finished: the current one, {document.run_id}, "
            f"began {began}"
        )
