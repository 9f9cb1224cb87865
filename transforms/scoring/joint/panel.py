"""Panels: several models vote on each question."""

from collections import Counter
from collections.abc import Sequence
from statistics import median_low

from msgspec.structs import replace

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.scoring.gaps import NotAsked
from turnwise.transforms.scoring.joint.members import Member, Run, ask_members, joint_use

PANEL = "panel"
"""Key in the details of a score that a panel gave."""


async def panel_score(criterion: JudgedCriterion, run: Run, ask: Ask) -> Score | None:
    """Asks every member of a panel and returns the score of the majority.

    More than half of the members must have a verdict, and more than half of those the same one; else it is
    unscored, with the reason. The score is that of the member with the (lower) median value.

    Args:
        criterion: The criterion, with the panel.
        run: Scores by the criterion.
        ask: The judge.
    """
    members = await ask_members(criterion, criterion.options.by_model(), run, ask)
    if not any(member.recorded.answers for member in members):
        return members[0].score
    verdict, fault = majority(members)
    if fault is None:
        score = replace(_middle([member for member in members if member.verdict == verdict], members))
    else:
        score = await _unscored(criterion, run, fault)
    score.details = {**(score.details or {}), PANEL: _detail(members, verdict)}
    score.judge = joint_use(", ".join(member.model for member in members), members)
    return score


def majority(members: Sequence[Member]) -> tuple[str | None, str | None]:
    """Returns the verdict of a panel, or why it has none."""
    verdicts = Counter(member.verdict for member in members if member.verdict is not None)
    needed, usable = len(members) // 2 + 1, sum(verdicts.values())
    if usable < needed:
        said = f"{usable} of {len(members)} members of the panel gave a verdict, {needed} are needed"
        return None, f"{said}: {_faults(members)}"
    ((verdict, count),) = verdicts.most_common(1)
    if 2 * count > usable:
        return verdict, None
    votes = ", ".join(f"{number} {name}" for name, number in sorted(verdicts.items()))
    return None, f"the panel has no majority: {votes}"


def _faults(members: Sequence[Member]) -> str:
    """Returns why members have no verdict; those with the same reason stand together."""
    models: dict[str, list[str]] = {}
    for member in members:
        if member.verdict is None:
            models.setdefault(member.reason, []).append(member.model)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in models.items())


def _middle(agreeing: Sequence[Member], members: Sequence[Member]) -> Score:
    """Returns the score of the majority whose value is the lower median of all values, or nearest to it."""
    values = [m.score.value for m in members if m.verdict and m.score and m.score.value is not None]
    scores = [member.score for member in agreeing if member.score]
    middle = median_low(values) if values else 0.0
    valued = [score for score in scores if score.value is not None]
    return min(valued, key=lambda score: abs((score.value or 0.0) - middle)) if valued else scores[0]


async def _unscored(criterion: JudgedCriterion, run: Run, reason: str) -> Score:
    """Returns the score of a criterion that got no answers: all its items are not judged."""
    score = await run(criterion, NotAsked(reason)) or Score(None)
    return replace(score, value=None, outcome=None, threshold=None, label=None, reason=reason)


def _detail(members: Sequence[Member], verdict: str | None) -> JsonObject:
    given = [member.verdict for member in members if member.verdict is not None]
    return {
        "verdict": verdict,
        "agreement": sum(each == verdict for each in given) / len(given) if verdict else None,
        "members": [member.detail() for member in members],
    }
