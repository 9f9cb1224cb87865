"""Calibrations of a run: labels and scores are read, the result is shown, written and merged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import cast

import msgspec
from msgspec.structs import replace

from turnwise.pipeline.io.terminal import aligned, columns, counted, cut, printable
from turnwise.pipeline.runs.directory import CALIBRATION_FILE
from turnwise.schemas.calibration import (
    Calibration,
    Corrected,
    CriterionCalibration,
    LabelFigure,
    LabelProblem,
    NumberAgreement,
    OutcomeAgreement,
    ThresholdAdvice,
    parse_label,
)
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.calibration.labels import (
    JudgedScore,
    LabelLine,
    Scale,
    judged_scores,
)
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


def calibration_text(found: Calibration, width: int) -> str:
    """Returns a calibration as text, in lines of at most a width."""
    width = max(width, _NARROWEST)
    lines = [f"{counted(found.lines, 'line')} of labels, run {found.run_id}"]
    lines += [problem_text(problem) for problem in found.problems]
    for own in found.criteria:
        lines += ["", *_criterion(own, found)]
    return "\n".join(part for line in lines for part in _fitted(line, width))


def _fitted(line: str, width: int) -> list[str]:
    """Returns a line, broken between words; rows of tables (which begin with spaces) are cut, with a mark."""
    shown = printable(line)
    if line.startswith("  ") or columns(shown) <= width:
        return [cut(shown, width)]
    return wrap(shown, width, subsequent_indent="    ", break_on_hyphens=False)


def problem_text(problem: LabelProblem) -> str:
    """Returns one line about labels that are not used."""
    more = ", ..." if problem.count > len(problem.names) else ""
    return f"{problem.count} {_MEANINGS[problem.kind]}: {', '.join(problem.names)}{more}"


def _criterion(own: CriterionCalibration, found: Calibration) -> Iterator[str]:
    raters = f" by {own.raters} raters" if own.raters > 1 else ""
    chosen = " and ".join(
        f"{count} {text}"
        for count, text in ((own.random, "drawn at random"), (own.hand_picked, "hand-picked"))
        if count
    )
    level = "turns" if own.level == "turn" else "whole conversations"
    yield f"{own.criterion}, {level}: {own.labelled} of {own.scores} scores are labelled{raters}, {chosen}"
    if own.outcomes is not None:
        yield from _outcomes(own.outcomes)
    if own.numbers is not None:
        yield from _numbers(own.numbers)
    if own.between_people is not None:
        yield f"between raters: Krippendorff's alpha {_number(own.between_people)}"
    if own.threshold is not None:
        yield f"threshold: {threshold_text(own.threshold, found)}"
    elif own.no_threshold is not None and own.kind == "outcomes":
        yield f"threshold: none is suggested: {own.no_threshold}"
    measure = "pass rate" if own.measure == "pass_rate" else "mean"
    if own.not_corrected is not None:
        yield f"{measure}: not corrected: {own.not_corrected}"
    elif own.corrected:
        yield corrected_text(own.corrected[0], own.measure == "pass_rate")
    yield from _groups(own)


def _outcomes(own: OutcomeAgreement) -> Iterator[str]:
    tied = f"; {own.tied} with equally divided raters are left out" if own.tied else ""
    agreement = f"{_percent(own.agreement)} of {own.agreement.count}"
    yield f"agreement {agreement}{tied}; Cohen's kappa {_number(own.kappa)}"
    table = own.confusion
    no_score = [str(own.no_score_pass), str(own.no_score_fail)]
    yield from _table(
        [
            ["", "people PASS", "people FAIL", "precision"],
            ["criterion PASS", str(table.both_pass), str(table.false_pass), _percent(own.precision)],
            ["criterion FAIL", str(table.false_fail), str(table.both_fail), _percent(own.fail_precision)],
            *([["no score", *no_score, ""]] if own.no_score_pass or own.no_score_fail else []),
            ["recall", _percent(own.recall), _percent(own.fail_recall), ""],
        ]
    )


def _numbers(own: NumberAgreement) -> Iterator[str]:
    yield f"value minus label: {_number(own.bias)}; distance: {_number(own.distance)}"
    yield f"correlation {_number(own.correlation)}; Krippendorff's alpha {_number(own.alpha)}"


def threshold_text(own: ThresholdAdvice, found: Calibration) -> str:
    """Returns what is said of the threshold."""
    costs = f"a false PASS costs {found.false_pass_cost:g}, a false FAIL {found.false_fail_cost:g}"
    basis = (
        f"{own.threshold:g} ({own.range.low:g} to {own.range.high:g}) has the lowest cost of errors on "
        f"{own.labels} labels of {counted(own.cases, 'case')} ({costs}): {_number(own.validated_cost)} a "
        f"score in cross-validation, {own.cost:.3f} on the same labels"
    )
    if own.present is None or own.present_cost is None:
        return f"{basis}; the run has no threshold to compare with"
    if own.word == "the present one":
        return f"{basis}; it is the present threshold"
    return f"{basis}; the present one, {own.present:g}, costs {_number(own.present_cost)}: {own.word}"


def corrected_text(own: Corrected, is_rate: bool) -> str:
    """Returns the corrected figure of all scores."""
    what = f"{'pass rate' if is_rate else 'mean'} of {_population(own, is_rate)}"
    of_decided = own.no_score and own.covers == "all"
    scored = f"as scored, of the {own.scores - own.no_score} decided" if of_decided else "as scored"
    missing = f", whatever the {own.missing} drawn without a label are" if own.missing else ""
    return (
        f"{what}: {_amount(own.raw, is_rate)} {scored}; corrected by {own.labels} "
        f"labels {_amount(own.value, is_rate)}{_interval(own.interval, is_rate)}{missing}"
    )


def _population(own: Corrected, is_rate: bool) -> str:
    if own.covers == "all":
        return f"all {own.scores}"
    nothing = "an outcome" if is_rate else "a value"
    return (
        f"the {own.scores - own.no_score} decided of {own.scores} (no label is of the {own.no_score} "
        f"without {nothing}; it does not speak for all)"
    )


def _groups(own: CriterionCalibration) -> Iterator[str]:
    """Yields a table of app versions and slices; the rest are in the file."""
    is_rate = own.measure == "pass_rate"
    agreed = {(one.group, one.name): one for one in own.slices}
    corrected = {(one.group, one.name): one for one in own.corrected[1:]}
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
    return (
        shown
        if figure.value is not None and figure.interval
        else f"{shown} ({figure.reason or 'no interval'})"
    )


def _amount(value: float | None, is_rate: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.1%}" if is_rate else f"{value:.3f}"


def _interval(bounds: Bounds | None, is_rate: bool) -> str:
    if bounds is None:
        return ""
    low, high = (f"{100 * end:.1f}" if is_rate else f"{end:.3f}" for end in (bounds.low, bounds.high))
    return f" ({low} to {high})"


def calibration_json(found: Calibration) -> bytes:
    """Returns a calibration as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def write_calibration(run: Run, found: Calibration) -> str:
    """Writes `calibration.json` whole into the directory of its run, and returns its path."""
    content = calibration_json(found)
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


def run_scores(run: Run, criteria: Collection[str], scales: Mapping[str, Scale]) -> list[JudgedScore]:
    """Returns the scores of some criteria in a run, and the verdicts if they are wanted.

    Raises:
        ConfigError: A file cannot be read, or its content is broken.
    """
    return judged_scores(criterion_rows(run, criteria), scales)


def criterion_rows(run: Run, criteria: Collection[str]) -> Iterable[ScoreRow]:
    """Returns the rows of scores of some criteria in a run, and the verdicts in their form."""
    wanted: Iterable[ScoreRow] = (row for row in run.scores() if row["criterion"] in criteria)
    if STATUS not in criteria:
        return wanted
    scored = dict.fromkeys(("turn_index", "value", "threshold", "score_id")) | {"criterion": STATUS}
    verdicts = ({**row, **scored, "outcome": row["verdict"]} for row in run.conversations())
    return chain(wanted, cast(Iterable[ScoreRow], verdicts))


_OTHER_COSTS = "it was computed with other costs of errors; calibrate the criterion again"


def merged(earlier: Calibration | None, found: Calibration) -> Calibration:
    """Returns a calibration with the criteria of an earlier one that it has no labels of."""
    kept = _kept(earlier, found)
    if earlier is None or not kept or not found.criteria:
        return found
    costs = found.false_pass_cost, found.false_fail_cost
    if costs != (earlier.false_pass_cost, earlier.false_fail_cost):
        kept = [
            replace(own, threshold=None, no_threshold=_OTHER_COSTS) if own.threshold else own for own in kept
        ]
    labels = list(dict.fromkeys([*earlier.labels, *found.labels]))
    criteria = sorted([*kept, *found.criteria], key=lambda own: (own.criterion, own.level))
    return replace(found, labels=labels, criteria=criteria)


def merge_lines(earlier: Calibration | None, found: Calibration) -> Iterator[str]:
    """Yields which criteria of an earlier calibration stay, and which are replaced."""
    if not found.criteria:
        return
    kept = _kept(earlier, found)
    replaced = [own for own in earlier.criteria if own not in kept] if earlier else []
    for what, criteria in (("kept", kept), ("replaced", replaced)):
        if criteria:
            names = ", ".join(f"{own.criterion} ({own.level})" for own in criteria)
            yield printable(f"{what} of the earlier calibration: {names}")


def _kept(earlier: Calibration | None, found: Calibration) -> list[CriterionCalibration]:
    own = {(one.criterion, one.level) for one in found.criteria}
    return [one for one in earlier.criteria if (one.criterion, one.level) not in own] if earlier else []


def read_labels(paths: Sequence[str], option: str = "--labels ") -> list[LabelLine]:
    """Returns the labels of files of JSON Lines, in order; `option` stands before a file in messages.

    Raises:
        ConfigError: A file cannot be read or holds no label, or a line is no label.
    """
    found = []
    for path in paths:
        lines = [*_lines(path, option)]
        if not lines:
            raise ConfigError(f"{option}{path}: holds no label")
        found += lines
    return found


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
