"""A check of a judge as text."""

from collections.abc import Iterator

from turnwise.pipeline.io.terminal import columns, counted, padded, printable
from turnwise.schemas.calibration import CheckCost, CheckedCriterion, CheckFigure, JudgeCheck
from turnwise.transforms.tools.judge_check import PERTURBATIONS

_GAP = "  "
_NOT_APPLICABLE = "does not apply"


def estimate_line(check: JudgeCheck, questions: int) -> str:
    """Returns the line about the estimated cost."""
    asked = f"{counted(questions, 'question')} about {counted(check.conversations, 'conversation')}"
    return f"estimate: {asked}, {check.votes} votes a form: about {_cost(check.estimate)}"


def _cost(cost: CheckCost) -> str:
    if cost.tokens_in is None or cost.tokens_out is None:
        tokens = "an unknown number of tokens"
    else:
        tokens = f"{cost.tokens_in:,} + {cost.tokens_out:,} tokens"
    money = "cost unknown (a model has no price, or did not state its tokens)"
    if cost.cost is not None:
        money = f"{cost.cost:,.2f} at the prices of the config"
    return f"{cost.calls:,} calls, {tokens}, {money}"


def check_text(check: JudgeCheck) -> str:
    """Returns the table by criterion, what was not measured, and what was used."""
    lines = [["criterion", "questions", *PERTURBATIONS], *map(_row, check.criteria)]
    shown = [[printable(cell) for cell in line] for line in lines]
    widths = [max(columns(line[place]) for line in shown) for place in range(len(shown[0]))]
    table = [
        _GAP.join(padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in shown
    ]
    notes = [note for each in check.criteria for note in _notes(each)]
    used = [f"used: {_cost(check.used)}"] if check.used else []
    return "\n".join(
        ["share of verdicts that change (95 % interval; changed of measured)", *table, *notes, *used]
    )


def _row(criterion: CheckedCriterion) -> list[str]:
    figures = (getattr(criterion, name) for name in PERTURBATIONS)
    cells = [_cell(figure) if criterion.questions else "no question" for figure in figures]
    return [criterion.criterion, str(criterion.questions), *cells]


def _cell(figure: CheckFigure | None) -> str:
    if figure is None:
        return _NOT_APPLICABLE
    if figure.share is None or figure.interval is None:
        return "not measured"
    low, high = figure.interval.low, figure.interval.high
    return f"{figure.share:.1%} ({low:.1%} to {high:.1%}; {figure.changed} of {figure.verdicts})"


def _notes(criterion: CheckedCriterion) -> Iterator[str]:
    """Yields what was not measured, and the questions that a perturbation does not apply to."""
    for name in PERTURBATIONS:
        figure: CheckFigure | None = getattr(criterion, name)
        if figure is None:
            continue
        start = f"{criterion.criterion}, {name}:"
        for reason, count in figure.unmeasured.items():
            yield printable(f"{start} {counted(count, 'verdict')} not measured: {reason}")
        if figure.questions < criterion.questions:
            left = criterion.questions - figure.questions
            yield f"{start} does not apply to {counted(left, 'question')}"
