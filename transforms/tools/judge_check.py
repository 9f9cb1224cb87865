"""Figures of a check by criterion, and what they fail."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnwise.schemas.calibration import CheckedCriterion, CheckFigure
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.judge_check.perturbed import PERTURBATIONS
from turnwise.transforms.judge_check.questions import CheckedQuestion
from turnwise.transforms.judge_check.votes import ChangedVerdicts, Votes, changes
from turnwise.transforms.statistics.agreement import GroupSum, grouped_share_interval

_REPEAT, *_OTHERS = PERTURBATIONS


class VotedQuestion(NamedTuple):
    """A question, and the votes on each of its forms by the name of the perturbation."""

    checked: CheckedQuestion
    votes: Mapping[str, Votes]


def criterion_figures(
    names: Sequence[str], voted: Sequence[VotedQuestion], errors: Mapping[str, int], number: int
) -> list[CheckedCriterion]:
    """Returns the figures of every criterion.

    Args:
        names: Names of the judged criteria; one that asks nothing has no figures.
        voted: Their questions with all votes.
        errors: Criterion -> how often it failed with an error.
        number: How often each form was asked.
    """
    return [
        _criterion(
            name, [each for each in voted if each.checked.criterion == name], errors.get(name, 0), number
        )
        for name in names
    ]


def _criterion(name: str, own: Sequence[VotedQuestion], errors: int, number: int) -> CheckedCriterion:
    figures = {perturbation: _figure(own, perturbation, number) for perturbation in PERTURBATIONS}
    return CheckedCriterion(
        criterion=name,
        conversations=len({each.checked.conversation for each in own}),
        questions=len(own),
        errors=errors,
        **figures,
    )


def _figure(own: Sequence[VotedQuestion], perturbation: str, number: int) -> CheckFigure | None:
    """Returns the figure of a perturbation; None: it applies to no question."""
    found = [
        (each.checked.conversation, _changes(each.votes, perturbation, number))
        for each in own
        if perturbation in each.votes
    ]
    if not found:
        return None
    groups = _groups(found)
    verdicts, changed = (int(sum(each)) for each in zip(*groups.values(), strict=True)) if groups else (0, 0)
    interval = grouped_share_interval(groups.values())
    return CheckFigure(
        questions=len(found),
        verdicts=verdicts,
        changed=changed,
        share=changed / verdicts if verdicts else None,
        interval=Bounds(*interval) if interval else None,
        unmeasured=dict(Counter(reason for _, each in found for reason in each.unmeasured)),
    )


def _changes(votes: Mapping[str, Votes], perturbation: str, number: int) -> ChangedVerdicts:
    return changes(votes[_REPEAT], None if perturbation == _REPEAT else votes[perturbation], number)


def _groups(found: Iterable[tuple[int, ChangedVerdicts]]) -> dict[int, GroupSum]:
    groups: dict[int, GroupSum] = {}
    for conversation, each in found:
        if each.verdicts:
            size, total = groups.get(conversation, (0, 0.0))
            groups[conversation] = GroupSum(size + len(each.verdicts), total + sum(each.verdicts))
    return groups


def check_problems(criteria: Sequence[CheckedCriterion], max_flip: float | None) -> list[str]:
    """Returns why a check fails, one line each.

    It fails if nothing was measured of a criterion that asks, or of all. With a bound, it also fails where a
    share exceeds it, where it would if all that was not measured had changed, and where a criterion asks
    nothing.
    """
    problems = [line for each in criteria for line in _problems(each, max_flip)]
    return (
        problems
        if any(each.questions for each in criteria)
        else ["no judged criterion asks anything", *problems]
    )


def _problems(criterion: CheckedCriterion, max_flip: float | None) -> Iterator[str]:
    name = criterion.criterion
    if criterion.errors:
        yield f"{name}: failed with an error {criterion.errors} times; its questions are missing"
    elif not criterion.questions and max_flip is not None:
        yield f"{name}: it asks nothing about the sample, so the bound is not shown to hold"
    for perturbation in PERTURBATIONS:
        figure: CheckFigure | None = getattr(criterion, perturbation)
        if figure is not None and (said := _problem(figure, max_flip)):
            yield f"{name}, {perturbation}: {said}"


def _problem(figure: CheckFigure, max_flip: float | None) -> str | None:
    missing = sum(figure.unmeasured.values())
    if figure.share is None:
        return f"nothing was measured: {next(iter(figure.unmeasured))}"
    if max_flip is None:
        return None
    if figure.share > max_flip:
        counts = f"{figure.changed} of {figure.verdicts} verdicts change"
        return f"{counts} ({figure.share:.1%}), more than {max_flip:.1%}"
    if (figure.changed + missing) / (figure.verdicts + missing) > max_flip:
        return f"{missing} verdicts were not measured; if they changed, more than {max_flip:.1%} would"
    return None
