"""Calibrations of a run: labels and scores are read, the result is shown, written and merged."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import cast

import msgspec
from msgspec.structs import replace

from turnwise.pipeline.io.terminal import aligned, counted, cut, printable, wrapped
from turnwise.pipeline.runs.directory import CALIBRATION_FILE
from turnwise.schemas.calibration import (
    Calibration,
    Corrected,
    CriterionCalibration,
    LabelFigure,
    NumberAgreement,
    OutcomeAgreement,
    ThresholdAdvice,
    parse_label,
)
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import is_local, listed
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.calibration.labels import LabelLine, Scale
from turnwise.transforms.decisions.run import Run

_NARROWEST = 40
_GROUPS_SHOWN = 12
_LONGEST = 32
_MEANINGS = {
    "unknown": "the run has no such score",
    "ambiguous": "several scores fit; score_id or app_version says which",
    "contradiction": "one rater gave a score different labels",
    "mixed": "numbers and PASS or FAIL for one criterion",
    "off_scale": "not on the scale of the criterion",
    "repeated": "the same label again, counted once",
    "no_label": "without a label",
    "after_end": "drawn, but after the last label",
}


def calibration_text(calibration: Calibration, width: int) -> str:
    """Returns a calibration as text, in lines of at most a width."""
    width = max(width, _NARROWEST)
    lines = [f"{counted(calibration.lines, 'line')} of labels, run {calibration.run_id}"]
    for problem in calibration.problems:
        names = listed(problem.names, len(problem.names), problem.count)
        lines.append(f"{problem.count} {_MEANINGS[problem.kind]}: {names}")
    for calibrated in calibration.criteria:
        lines += ["", *_criterion(calibrated, calibration)]
    # Rows of tables, which begin with spaces, are cut.
    fitted = (
        [cut(line, width)] if line.startswith("  ") else wrapped(line, width, "    ")
        for line in map(printable, lines)
    )
    return "\n".join(chain.from_iterable(fitted))


def _criterion(calibrated: CriterionCalibration, calibration: Calibration) -> Iterator[str]:
    raters = f" by {calibrated.raters} raters" if calibrated.raters > 1 else ""
    chosen = " and ".join(
        f"{count} {text}"
        for count, text in ((calibrated.random, "drawn at random"), (calibrated.hand_picked, "hand-picked"))
        if count
    )
    level = "turns" if calibrated.level == "turn" else "whole conversations"
    labelled = f"{calibrated.labelled} of {calibrated.scores} scores are labelled{raters}"
    yield f"{calibrated.criterion}, {level}: {labelled}, {chosen}"
    if calibrated.outcomes is not None:
        yield from _outcomes(calibrated.outcomes)
    if calibrated.numbers is not None:
        yield from _numbers(calibrated.numbers)
    if calibrated.between_people is not None:
        yield f"between raters: Krippendorff's alpha {_number(calibrated.between_people)}"
    if calibrated.threshold is not None:
        yield f"threshold: {threshold_text(calibrated.threshold, calibration)}"
    elif calibrated.no_threshold is not None and calibrated.kind == "outcomes":
        yield f"threshold: none is suggested: {calibrated.no_threshold}"
    measure = "pass rate" if calibrated.measure == "pass_rate" else "mean"
    if calibrated.not_corrected is not None:
        yield f"{measure}: not corrected: {calibrated.not_corrected}"
    elif calibrated.corrected:
        yield corrected_text(calibrated.corrected[0], calibrated.measure == "pass_rate")
    yield from _groups(calibrated)


def _outcomes(outcomes: OutcomeAgreement) -> Iterator[str]:
    tied = f"; {outcomes.tied} with equally divided raters are left out" if outcomes.tied else ""
    agreement = f"{_percent(outcomes.agreement)} of {outcomes.agreement.count}"
    yield f"agreement {agreement}{tied}; Cohen's kappa {_number(outcomes.kappa)}"
    table = outcomes.confusion
    no_score = [str(outcomes.no_score_pass), str(outcomes.no_score_fail)]
    precision, fail_precision = _percent(outcomes.precision), _percent(outcomes.fail_precision)
    yield from _table(
        [
            ["", "people PASS", "people FAIL", "precision"],
            ["criterion PASS", str(table.both_pass), str(table.false_pass), precision],
            ["criterion FAIL", str(table.false_fail), str(table.both_fail), fail_precision],
            *([["no score", *no_score, ""]] if outcomes.no_score_pass or outcomes.no_score_fail else []),
            ["recall", _percent(outcomes.recall), _percent(outcomes.fail_recall), ""],
        ]
    )


def _numbers(numbers: NumberAgreement) -> Iterator[str]:
    yield f"value minus label: {_number(numbers.bias)}; distance: {_number(numbers.distance)}"
    yield f"correlation {_number(numbers.correlation)}; Krippendorff's alpha {_number(numbers.alpha)}"


def threshold_text(advice: ThresholdAdvice, calibration: Calibration) -> str:
    """Returns what is said of the threshold."""
    costs = (
        f"a false PASS costs {calibration.false_pass_cost:g}, a false FAIL {calibration.false_fail_cost:g}"
    )
    basis = (
        f"{advice.threshold:g} ({advice.range.low:g} to {advice.range.high:g}) has the lowest cost of errors "
        f"on {advice.labels} labels of {counted(advice.cases, 'case')} ({costs}): "
        f"{_number(advice.validated_cost)} a score in cross-validation, {advice.cost:.3f} on the same labels"
    )
    if advice.present is None or advice.present_cost is None:
        return f"{basis}; the run has no threshold to compare with"
    if advice.word == "the present one":
        return f"{basis}; it is the present threshold"
    present = f"{advice.present:g}, costs {_number(advice.present_cost)}"
    return f"{basis}; the present one, {present}: {advice.word}"


def corrected_text(corrected: Corrected, is_rate: bool) -> str:
    """Returns the corrected figure of all scores."""
    what = f"{'pass rate' if is_rate else 'mean'} of {_population(corrected, is_rate)}"
    of_decided = corrected.no_score and corrected.covers == "all"
    scored = (
        f"as scored, of the {corrected.scores - corrected.no_score} decided" if of_decided else "as scored"
    )
    missing = f", whatever the {corrected.missing} drawn without a label are" if corrected.missing else ""
    return (
        f"{what}: {_amount(corrected.raw, is_rate)} {scored}; corrected by {corrected.labels} "
        f"labels {_amount(corrected.value, is_rate)}{_interval(corrected.interval, is_rate)}{missing}"
    )


def _population(corrected: Corrected, is_rate: bool) -> str:
    if corrected.covers == "all":
        return f"all {corrected.scores}"
    nothing = "an outcome" if is_rate else "a value"
    return (
        f"the {corrected.scores - corrected.no_score} decided of {corrected.scores} (no label is of the "
        f"{corrected.no_score} without {nothing}; it does not speak for all)"
    )


def _groups(calibrated: CriterionCalibration) -> Iterator[str]:
    """Yields a table of app versions and slices; the rest are in the file."""
    is_rate = calibrated.measure == "pass_rate"
    agreed = {(item.group, item.name): item for item in calibrated.slices}
    corrected = {(item.group, item.name): item for item in calibrated.corrected[1:]}
    keys = [key for key in dict.fromkeys([*agreed, *corrected]) if key in agreed or corrected[key].labels]
    if not keys:
        return
    rows = [["", "labels", "agreement", "as scored", "corrected"]]
    for key in keys[:_GROUPS_SHOWN]:
        agreement, figure = agreed.get(key), corrected.get(key)
        labels = agreement.agreement.count if agreement else figure.labels if figure else 0
        rows.append(
            [
                printable(key[1] or "(no version)", _LONGEST),
                str(labels),
                _percent(agreement.agreement) if agreement else "-",
                _amount(figure.raw, is_rate) if figure else "-",
                f"{_amount(figure.value, is_rate)}{_interval(figure.interval, is_rate)}" if figure else "-",
            ]
        )
    yield from _table(rows)
    if len(keys) > _GROUPS_SHOWN:
        yield f"  and {len(keys) - _GROUPS_SHOWN} more"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in aligned(rows)]


def _percent(figure: LabelFigure) -> str:
    return f"{_amount(figure.value, True)}{_interval(figure.interval, True)}"


def _number(figure: LabelFigure) -> str:
    shown = f"{_amount(figure.value, False)}{_interval(figure.interval, False)}"
    is_whole = figure.value is not None and figure.interval
    return shown if is_whole else f"{shown} ({figure.reason or 'no interval'})"


def _amount(value: float | None, is_rate: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.1%}" if is_rate else f"{value:.3f}"


def _interval(bounds: Bounds | None, is_rate: bool) -> str:
    if bounds is None:
        return ""
    low, high = (f"{100 * end:.1f}" if is_rate else f"{end:.3f}" for end in (bounds.low, bounds.high))
    return f" ({low} to {high})"


def calibration_json(calibration: Calibration) -> bytes:
    """Returns a calibration as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=2) + b"\n"


def write_calibration(run: Run, calibration: Calibration) -> str:
    """Writes `calibration.json` whole into the directory of its run, and returns its path."""
    content = calibration_json(calibration)
    if not is_local(run.directory):
        from turnwise.pipeline.io.run_writer import publish, write_partial

        publish(run.directory, [(write_partial(run.directory, CALIBRATION_FILE, content), CALIBRATION_FILE)])
        return f"{run.directory.rstrip('/')}/{CALIBRATION_FILE}"
    path = Path(run.directory) / CALIBRATION_FILE
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
    return str(path)


def run_scales(names: Collection[str]) -> dict[str, Scale]:
    """Returns criterion -> what it measures with; criteria that are not known here are left out."""
    scales = {
        name: Scale(bounds=kind.scale, passes_from=kind.gate == "at_least")
        for name in names
        if (kind := CRITERIA.get(name)) is not None
    }
    return scales | {STATUS: Scale(bounds=(0.0, 1.0), has_values=False)}


def criterion_rows(run: Run, criteria: Collection[str]) -> Iterable[ScoreRow]:
    """Returns the rows of scores of some criteria in a run, and the verdicts in their form.

    Raises:
        ConfigError: A file cannot be read, or its content is broken.
    """
    wanted: Iterable[ScoreRow] = (row for row in run.scores() if row["criterion"] in criteria)
    if STATUS not in criteria:
        return wanted
    scored = dict.fromkeys(("turn_index", "value", "threshold", "score_id")) | {"criterion": STATUS}
    verdicts = ({**row, **scored, "outcome": row["verdict"]} for row in run.conversations())
    return chain(wanted, cast(Iterable[ScoreRow], verdicts))


def merged(earlier: Calibration | None, calibration: Calibration) -> Calibration:
    """Returns a calibration with the criteria of an earlier one that it has no labels of."""
    kept = _kept(earlier, calibration)
    if earlier is None or not kept or not calibration.criteria:
        return calibration
    costs = calibration.false_pass_cost, calibration.false_fail_cost
    if costs != (earlier.false_pass_cost, earlier.false_fail_cost):
        why = "it was computed with other costs of errors; calibrate the criterion again"
        outdated = {"threshold": None, "no_threshold": why}
        kept = [replace(known, **outdated) if known.threshold else known for known in kept]
    labels = list(dict.fromkeys([*earlier.labels, *calibration.labels]))
    criteria = sorted(
        [*kept, *calibration.criteria], key=lambda calibrated: (calibrated.criterion, calibrated.level)
    )
    return replace(calibration, labels=labels, criteria=criteria)


def merge_lines(earlier: Calibration | None, calibration: Calibration) -> Iterator[str]:
    """Yields which criteria of an earlier calibration stay, and which are replaced."""
    if not calibration.criteria:
        return
    kept = _kept(earlier, calibration)
    replaced = [calibrated for calibrated in earlier.criteria if calibrated not in kept] if earlier else []
    for what, criteria in (("kept", kept), ("replaced", replaced)):
        if criteria:
            names = ", ".join(f"{calibrated.criterion} ({calibrated.level})" for calibrated in criteria)
            yield printable(f"{what} of the earlier calibration: {names}")


def _kept(earlier: Calibration | None, calibration: Calibration) -> list[CriterionCalibration]:
    replaced = {(calibrated.criterion, calibrated.level) for calibrated in calibration.criteria}
    known = earlier.criteria if earlier else []
    return [calibrated for calibrated in known if (calibrated.criterion, calibrated.level) not in replaced]


def read_labels(paths: Sequence[str], option: str = "--labels ") -> list[LabelLine]:
    """Returns the labels of files of JSON Lines, in order; `option` stands before a file in messages.

    Raises:
        ConfigError: A file cannot be read or holds no label, or a line is no label.
    """
    labels = []
    for path in paths:
        lines = [*_lines(path, option)]
        if not lines:
            raise ConfigError(f"{option}{path}: holds no label")
        labels += lines
    return labels


def _lines(path: str, option: str) -> Iterator[LabelLine]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"{option}{path}: {why}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield LabelLine(parse_label(line), f"{Path(path).name}:{number}")
        except ValueError as error:
            raise ConfigError(f"{option}{path}:{number}: no label: {error}") from None
