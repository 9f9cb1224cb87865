"""Implements `turnwise cases`: makes eval cases of recorded conversations. Without Beam."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from turnwise.pipeline.cli.arguments import add_reading_arguments
from turnwise.pipeline.cli.convert import report
from turnwise.pipeline.conversion.candidates import is_run, log_candidates, run_candidates
from turnwise.pipeline.conversion.cases import write_cases
from turnwise.pipeline.conversion.output import check_new_file
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.options import OptionParser
from turnwise.pipeline.settings.run import read_config
from turnwise.schemas.config import ConfigError
from turnwise.schemas.proto.masks import Condition, FilterError, parse_filter
from turnwise.schemas.registry import load_plugins
from turnwise.schemas.score import Failure
from turnwise.transforms.decisions.cases import Candidate, CandidateSample, check_fields, meets
from turnwise.transforms.formats.reading import AnyReader
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.tools.conversion import TARGETS

FAILED, SAMPLE = "failed", "sample"
_SAMPLE_SIZE: Final = 50
_CANONICAL = "turnwise"


def make_cases(argv: Sequence[str]) -> int:
    """Writes eval cases made of recorded conversations, for a person to approve.

    Returns:
        Exit status: 0; 1 if something could not be read or written, or no case was made.

    Raises:
        ConfigError: An option, the config or a path is wrong.
    """
    options = cases_parser().parse_args(argv)
    load_plugins(options.plugin)
    check_log_format(options.input_format)
    for option, value in (("--from", options.sources), ("--select", options.select), ("--to", options.to)):
        if not value:
            raise ConfigError(f"{option} is missing (turnwise cases --help)")
    if options.number is not None and options.number < 1:
        raise ConfigError(f"--number must be 1 or more, not {options.number}")
    target = TARGETS.find(options.format, "--format ")
    if target.case is None:
        raise ConfigError(f"--format {target.name}: holds no eval cases")
    check_places("--from", options.sources)
    check_new_file(options.to, target)
    number = _SAMPLE_SIZE if options.number is None and options.select == SAMPLE else options.number
    wanted = _wanted(options.select, options.sources)
    reader = AnyReader(options.input_format, read_config(options.config))
    given = _candidates(options.sources, reader)
    try:
        done = write_cases(given, wanted, CandidateSample(number, options.seed), target, options.to)
    except FilterError as error:
        raise ConfigError(f"--select {options.select}: {error}") from None
    return report(done, options.json)


def cases_parser() -> OptionParser:
    """Returns the parser of `turnwise cases`."""
    parser = OptionParser(
        prog="turnwise cases",
        description="Makes eval cases of recorded conversations: they expect the recorded answers and calls, "
        "until a person approves or corrects them. What was asked and done before is left out. "
        "Exit status 1 if something could not be read, or no case was made.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--from", dest="sources", nargs="+", metavar="PATH",
        help="output directories of runs, or logs: files, directories or globs (required)",
    )  # fmt: skip
    parser.add_argument(
        "--select", metavar="WHICH",
        help=f"{FAILED}: conversations of runs that failed; {SAMPLE}: any; or a filter such as "
        "'app_version = v2 AND tool = book_*' (required)",
    )  # fmt: skip
    parser.add_argument("--to", metavar="FILE", help="the file to write; it must not exist (required)")
    names = ", ".join(sorted(name for name, each in TARGETS.items() if each.case))
    parser.add_argument(
        "--format", default=_CANONICAL, metavar="FORMAT",
        help=f"form of the cases: {names} (default: {_CANONICAL})",
    )  # fmt: skip
    parser.add_argument(
        "--number", type=int, metavar="N",
        help=f"at most so many cases, drawn at random (default: {_SAMPLE_SIZE} with {SAMPLE}, else all)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="another seed draws another sample (default: 0)")
    add_reading_arguments(parser, "config that says how some records are read")
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of text")
    return parser


def _wanted(select: str, sources: Sequence[str]) -> Callable[[Candidate], bool]:
    if select == SAMPLE:
        return lambda candidate: True
    if select == FAILED:
        logs = [path for path in sources if not is_run(path)]
        if logs:
            said = "is no output directory of a run, and logs do not say what failed; score it first"
            raise ConfigError(f"--select {FAILED}: {logs[0]}: {said}")
        return lambda candidate: candidate.verdict == "FAIL"
    return _filter(select)


def _filter(text: str) -> Callable[[Candidate], bool]:
    try:
        condition: Condition | None = parse_filter(text)
    except FilterError as error:
        raise ConfigError(f"--select {text}: {error}; it is {FAILED}, {SAMPLE} or a filter") from None
    if condition is None:
        raise ConfigError(f"--select is empty; it is {FAILED}, {SAMPLE} or a filter")

    def is_wanted(candidate: Candidate) -> bool:
        check_fields(condition, candidate.facts)
        return meets(condition, candidate.facts)

    return is_wanted


def _candidates(sources: Sequence[str], reader: AnyReader) -> Iterator[Candidate | Failure]:
    runs = [path for path in sources if is_run(path)]
    logs = [path for path in sources if path not in runs]
    return chain(chain.from_iterable(map(run_candidates, runs)), log_candidates(logs, reader) if logs else ())
