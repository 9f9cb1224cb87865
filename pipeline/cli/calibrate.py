"""Implements `turnwise calibrate`: holds the criteria of a run against human labels. Without Beam."""

import shutil
from collections.abc import Callable, Sequence

from turnwise.pipeline.cli.arguments import add_plugin_argument
from turnwise.pipeline.io.run_reader import RunDirectory, open_run
from turnwise.pipeline.io.terminal import complain, say
from turnwise.pipeline.settings.options import OptionParser
from turnwise.schemas.calibration import Calibration
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import load_plugins

_WIDTH = 120
_HIGHEST_COST = 1e9
_WRONG = ("unknown", "ambiguous", "contradiction", "mixed", "off_scale")


def calibrate_run(argv: Sequence[str]) -> int:
    """Prints what labels say of the criteria of a run, and writes `calibration.json` into its directory.

    Returns:
        Exit status: 0, or 1 if no label is of the run, or lines of the files are wrong.

    Raises:
        ConfigError: An option, directory or line is wrong.
    """
    options = calibrate_parser().parse_args(argv)
    load_plugins(options.plugin)
    for name in ("false_pass_cost", "false_fail_cost"):
        if not 0 < (cost := getattr(options, name)) <= _HIGHEST_COST:
            raise ConfigError(f"--{name} {cost:g}: must be a number above 0, at most {_HIGHEST_COST:g}")
    run = open_run(options.out)
    # Imported late: an error in the options does not wait for numpy.
    from turnwise.pipeline.calibration.labels import read_labels
    from turnwise.pipeline.calibration.merge import merge_lines, merged
    from turnwise.pipeline.calibration.run_scores import run_rulers, run_scores
    from turnwise.pipeline.calibration.write import calibration_json, write_calibration
    from turnwise.pipeline.report.calibration import calibration_text
    from turnwise.transforms.decisions.calibration.calibrate import ErrorCosts, calibrate

    lines = read_labels(options.labels)
    names = {line.label.criterion for line in lines}
    rulers = run_rulers(names)
    scores = run_scores(run, names, rulers)
    costs = ErrorCosts(options.false_pass_cost, options.false_fail_cost)
    found = _computed(lambda: calibrate(run.document.run_id, options.labels, lines, scores, rulers, costs))
    earlier = _earlier(run)
    whole = merged(earlier, found)
    path = write_calibration(run, whole) if found.criteria else None
    if options.format == "json":
        say(calibration_json(whole).decode().rstrip())
    else:
        say(calibration_text(found, shutil.get_terminal_size((_WIDTH, 24)).columns))
        say(f"\nfile: {path}" if path else "\nno label is of a score of this run; nothing is written")
        list(map(say, merge_lines(earlier, found)))
    return _status(found, None if path else run.calibration_path())


def _earlier(run: RunDirectory) -> Calibration | None:
    """Returns the run's earlier calibration; one that cannot be read is replaced."""
    try:
        return run.calibration()
    except ConfigError:
        return None


def _computed(calibrated: Callable[[], Calibration]) -> Calibration:
    """Returns a calibration; raises ConfigError where numbers are so large that a figure is not finite."""
    import numpy as np

    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return calibrated()
    except ArithmeticError:
        raise ConfigError("values of the run or labels are too large to compute with") from None


def _status(found: Calibration, earlier: str | None) -> int:
    wrong = sum(problem.count for problem in found.problems if problem.kind in _WRONG)
    if not found.criteria:
        stays = (
            f"; {earlier} of an earlier calibration stays, and `turnwise compare` reads it: remove it if "
            "it is wrong"
        )
        complain(f"no label can be used{stays if earlier else ''}")
    elif wrong:
        complain(f"{wrong} of {found.lines} lines of labels are not used")
    return 1 if wrong or not found.criteria else 0


def calibrate_parser() -> OptionParser:
    """Returns the parser of `turnwise calibrate`."""
    parser = OptionParser(
        prog="turnwise calibrate",
        description="Holds the criteria of a run against human labels: agreement, thresholds and, with "
        "labels of a random sample, pass rates and means without a judge's bias.",
        allow_abbrev=False,
    )
    parser.add_argument("out", metavar="OUT", help="output directory of a finished run")
    parser.add_argument(
        "--labels",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="labels as JSON Lines, such as the export of a report",
    )
    parser.add_argument(
        "--false_pass_cost",
        type=float,
        default=1.0,
        metavar="COST",
        help="cost of a PASS that people fail, for the threshold (default: 1)",
    )
    parser.add_argument(
        "--false_fail_cost",
        type=float,
        default=1.0,
        metavar="COST",
        help="cost of a FAIL that people pass (default: 1)",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output (default: text)")
    add_plugin_argument(parser)
    return parser
