"""The command `turnwise gate`. Does not import Beam, so that help is fast."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from turnwise.pipeline.cli.arguments import add_plugin_argument
from turnwise.pipeline.gating.junit import junit_xml
from turnwise.pipeline.gating.markdown import markdown
from turnwise.pipeline.gating.report import rule_line
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.terminal import complain, counted, printable, say
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.config import ConfigError
from turnwise.schemas.gate import GateReport
from turnwise.schemas.registry import load_plugins


def gate_parser() -> OptionParser:
    """Returns the parser of `turnwise gate`."""
    parser = OptionParser(
        prog="turnwise gate",
        description="Decides by the rules of a config whether a finished run passes.",
        epilog="Exit status: 0, all rules passed; 1, one failed or could not be decided; 2, wrong input.",
        allow_abbrev=False,
    )
    parser.add_argument("output", metavar="OUT", help="output directory of a finished run")
    parser.add_argument(
        "--baseline", metavar="OUT", help="output directory of the run that it is compared with"
    )
    parser.add_argument(
        "--versions",
        nargs=2,
        metavar=("BASE", "CANDIDATE"),
        help="app versions of the baseline and of the run; without --baseline both of this run",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="config file whose rules count (default: the config of the run)"
    )
    parser.add_argument("--junit", metavar="FILE", help="write the result as JUnit XML")
    parser.add_argument("--markdown", metavar="FILE", help="write the result as Markdown for a pull request")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON")
    add_plugin_argument(parser)
    return parser


def gate(argv: Sequence[str]) -> int:
    """Applies the rules to a finished run, prints the result and writes its reports.

    Returns:
        Exit status: 0: all rules passed; 1: one failed or could not be decided.

    Raises:
        ConfigError: An option, a directory or a rule is wrong.
    """
    options = gate_parser().parse_args(list(argv))
    from turnwise.pipeline.report.gate import (
        gate_report,
        run_rules,  # numpy, which help does not need
    )

    load_plugins(options.plugin)
    _check_places(options)
    run = open_run(options.output)
    report = gate_report(run, run_rules(run, options.config), options.baseline, options.versions or ())
    writers: tuple[tuple[str | None, Callable[[GateReport], bytes]], ...] = (
        (options.junit, junit_xml),
        (options.markdown, lambda found: markdown(found).encode("utf-8", "replace")),
        (options.json, lambda found: json.dumps(msgspec.to_builtins(found)).encode() + b"\n"),
    )
    for place, written in writers:
        if place is not None:
            Path(place).write_bytes(written(report))
    _tell(report)
    return 0 if report.status == "passed" else 1


def _check_places(options: argparse.Namespace) -> None:
    for name in ("junit", "markdown", "json"):
        place = getattr(options, name)
        if place is not None and (not Path(place).parent.is_dir() or Path(place).is_dir()):
            raise ConfigError(f"--{name} {place}: cannot be written: name a file in a directory that exists")


def _tell(report: GateReport) -> None:
    for rule in report.rules:
        if rule.status == "passed":
            say(
                printable(
                    f"passed: {rule.rule}{f' ({rule.app_version})' if rule.app_version else ''}: {rule.why}"
                )
            )
    for line in (*report.problems, *(rule_line(rule) for rule in report.rules if rule.status != "passed")):
        complain(line)
    status = "not decided" if report.status == "undecided" else report.status
    say(f"gate: {status}, {counted(len(report.rules), 'rule')}")
