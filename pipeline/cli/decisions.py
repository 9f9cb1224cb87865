"""Implements `turnwise compare`: says whether one version is better than another. Without Beam."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from turnwise.pipeline.cli.arguments import add_plugin_argument
from turnwise.pipeline.comparison.fail_on import FailOn, fail_on_problems
from turnwise.pipeline.comparison.ruler import nothing_common, ruler_problem
from turnwise.pipeline.comparison.sides import sides_of
from turnwise.pipeline.io.terminal import complain, say
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.comparison import Comparison, PairedBy
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import load_plugins
from turnwise.transforms.decisions.comparison.sides import ComparedSide

_BY: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")
_WIDTH = 120
_LEAST_ALPHA = 1e-9


class _Options(msgspec.Struct, frozen=True):
    runs: Sequence[str]
    versions: Sequence[str]
    store: str | None
    app: str | None
    by: PairedBy | None
    margin: float
    alpha: float
    slices: Sequence[str] | None
    format: Literal["text", "json"]
    output: str | None
    fail_on: FailOn | None
    allow_different_judges: bool


def compare_runs(argv: Sequence[str]) -> int:
    """Compares two runs, or two versions of one run or store, and prints the result.

    Returns:
        Exit status: 0, or 1 if `--fail_on` holds.

    Raises:
        ConfigError: An option or directory is wrong, there is nothing to compare, or A and B were not
            measured in the same way.
    """
    options = _parse(argv)
    a, b = _sides(options)
    # Imported late: an error in the options does not wait for numpy.
    from turnwise.transforms.decisions.comparison.differences import CompareOptions, check_slices, compare
    from turnwise.transforms.decisions.comparison.words import ruler_changes

    problem = "" if options.allow_different_judges else ruler_problem(ruler_changes(a, b))
    if problem:
        raise ConfigError(f"{problem}; score one of them again, or pass --allow_different_judges")
    slices = _slices(a, b) if options.slices is None else options.slices
    if options.slices:
        check_slices([a.conversations, b.conversations], options.slices)
    wanted = CompareOptions(
        by=options.by,
        margin=options.margin,
        alpha=options.alpha,
        slices=slices,
        any_verdicts=options.allow_different_judges,
    )
    found = compare(a, b, wanted)
    if options.by is not None and not found.pairing.pairs + found.pairing.changed:
        raise ConfigError(f"--by {options.by}: no case of {a.name} is in {b.name}")
    if nothing_common(found):
        raise ConfigError(f"nothing to compare: {nothing_common(found)}")
    _show(found, options)
    problems = fail_on_problems(found, options.fail_on) if options.fail_on else []
    for problem in problems:
        complain(problem)
    return 1 if problems else 0


def _sides(options: _Options) -> tuple[ComparedSide, ComparedSide]:
    if options.store is None:
        return sides_of(options.runs, options.versions)
    from turnwise.pipeline.store.comparison import sides_of_store

    return sides_of_store(options.store, options.app, options.versions)


def _slices(a: ComparedSide, b: ComparedSide) -> list[str]:
    """Returns the slices of both configs."""
    documents = [side.document for side in (a, b) if side.document is not None]
    return list(dict.fromkeys(name for document in documents for name in document.config.get("slices", ())))


def _show(found: Comparison, options: _Options) -> None:
    document = msgspec.json.format(msgspec.json.encode(found), indent=2)
    if options.output:
        _write(Path(options.output), found, document)
    if options.format == "json":
        say(document.decode())
        return
    from turnwise.pipeline.report.comparison import comparison_text

    say(comparison_text(found, shutil.get_terminal_size((_WIDTH, 24)).columns))
    if options.output:
        say(f"files: {options.output}/compare.json, compare.md")


def _write(directory: Path, found: Comparison, document: bytes) -> None:
    from turnwise.pipeline.comparison.markdown import comparison_markdown

    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "compare.json").write_bytes(document + b"\n")
        (directory / "compare.md").write_text(comparison_markdown(found), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror or error}") from None


def _parse(argv: Sequence[str]) -> _Options:
    parser = compare_parser()
    given = parser.parse_args(argv)
    load_plugins(given.plugin)
    options = _Options(**{name: getattr(given, name) for name in _Options.__struct_fields__})
    places = len(options.runs) + (options.store is not None)
    if options.store is not None and options.runs:
        raise ConfigError("--store: goes without directories")
    if not 1 <= places <= 2:
        raise ConfigError("name one or two output directories of runs, or --store")
    if options.store is not None and not options.versions:
        raise ConfigError("--store: --versions names the base and the candidate")
    for name, value, least in (("alpha", options.alpha, _LEAST_ALPHA), ("margin", options.margin, 0)):
        if not least < value < 1:
            raise ConfigError(f"--{name} {value:g}: must be between {least:g} and 1, exclusive")
    return options


def compare_parser() -> OptionParser:
    """Returns the parser of `turnwise compare`."""
    parser = OptionParser(
        prog="turnwise compare",
        description="Compares two runs, or two app versions of one run, and says of every criterion whether "
        "B is better or worse than A.",
        allow_abbrev=False,
    )
    parser.add_argument("runs", nargs="*", metavar="OUT", help="output directories of A and B, or of both")
    parser.add_argument("--versions", nargs=2, default=[], metavar=("A", "B"), help="app versions to compare")
    parser.add_argument("--store", metavar="URL", help="compare versions, or runs, of a store")
    parser.add_argument("--app", metavar="APP", help="projects/P/locations/L/apps/A, of a store with several")
    parser.add_argument("--by", choices=_BY, help="what pairs conversations (default: what pairs most cases)")
    parser.add_argument(
        "--margin",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="largest difference that does not matter, as a share of the scale (default: 0.02)",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, metavar="P", help="level of significance (default: 0.05)"
    )
    parser.add_argument(
        "--slices", nargs="*", metavar="NAME", help="slices, as in the config (default: those of the configs)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output (default: text)")
    parser.add_argument("--output", metavar="DIR", help="directory for compare.json and compare.md")
    parser.add_argument(
        "--fail_on",
        choices=get_args(FailOn),
        help="exit 1 if a criterion is worse; or unless each is shown to be better, the same or not worse",
    )
    parser.add_argument(
        "--allow_different_judges",
        action="store_true",
        help="compare although config, judge model or prompt differ",
    )
    add_plugin_argument(parser)
    return parser
