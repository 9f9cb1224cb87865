"""Implements `turnwise report`. Without Beam, unless a directory is remote."""

from collections.abc import Sequence
from pathlib import Path

from turnwise.pipeline.cli.arguments import add_plugin_argument
from turnwise.pipeline.io.listing import RUN_FOLDER
from turnwise.pipeline.io.run_reader import REPORT_DATA, REPORT_FILE, is_file_of_run, open_run
from turnwise.pipeline.io.terminal import say
from turnwise.pipeline.report.html import run_rows, write_report
from turnwise.pipeline.report_html.compared import compare_versions
from turnwise.pipeline.report_html.page import is_report
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.registry import load_plugins
from turnwise.schemas.report import Report


def report_runs(argv: Sequence[str]) -> int:
    """Writes a report of the runs in some directories, and prints its path.

    Returns:
        Exit status 0.

    Raises:
        ConfigError: An option is wrong, or a directory holds no finished run.
    """
    options = report_parser().parse_args(argv)
    load_plugins(options.plugin)
    if len(set(options.out)) < len(options.out):
        raise ConfigError("a directory is named twice")
    path = _path(options.html, options.out)
    runs = [open_run(directory) for directory in options.out]
    report = write_report(
        path, [run_rows(run) for run in runs], compare_versions(runs), single_file=options.single_file
    )
    say(f"report: {path}{_beside(report)}")
    return 0


def report_parser() -> OptionParser:
    """Returns the parser of `turnwise report`."""
    parser = OptionParser(
        prog="turnwise report",
        description="Writes one HTML file with verdicts, figures and conversations of one or several runs.",
        allow_abbrev=False,
    )
    parser.add_argument("out", nargs="+", metavar="OUT", help="output directories of finished runs")
    parser.add_argument(
        "--html", metavar="FILE", help=f"the file (default: {REPORT_FILE} in the first directory)"
    )
    parser.add_argument(
        "--single_file",
        action="store_true",
        help="keep only the transcripts that the file has room for: a random sample, what did not pass, the "
        "rest",
    )
    add_plugin_argument(parser)
    return parser


def _path(file: str | None, directories: Sequence[str]) -> Path:
    first = directories[0]
    if file is None and not is_local(first):
        raise ConfigError(f"{first}: is not on this machine; name the report's file with --html")
    if file is None:
        path, option = Path(first) / REPORT_FILE, ""
    else:
        path, option = Path(file), "--html "
        _check_place(path, directories)
    if path.exists() and not is_report(path):
        raise ConfigError(
            f"{option}{path}: is no report of turnwise, and is not overwritten; name another file"
        )
    return path


def _check_place(path: Path, directories: Sequence[str]) -> None:
    """Refuses a path at which there can be no report."""
    if path.is_dir():
        raise ConfigError(f"--html {path}: is a directory")
    if not path.parent.is_dir():
        raise ConfigError(f"--html {path}: there is no directory {path.parent}; make it first")
    homes = {Path(directory).resolve() for directory in directories if is_local(directory)}
    home = path.resolve().parent
    in_folder = RUN_FOLDER.fullmatch(home.name) and home.parent in homes
    if (home in homes or in_folder) and is_file_of_run(path.resolve().name):
        raise ConfigError(f"--html {path}: is the name of a file of the run; name another file")


def _beside(report: Report) -> str:
    files = report.chunks - report.inline_chunks
    left_out = f"; transcripts of {report.omitted:,} conversations are left out" if report.omitted else ""
    return (f"; {files} files with transcripts beside it, in {REPORT_DATA}" if files else "") + left_out
