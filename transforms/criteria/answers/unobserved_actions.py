"""unobserved_actions: share of the actions of an answer's steps without an observation."""

from typing import ClassVar, Literal

from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import LISTED
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class UnobservedActions(MeasuredCriterion):
    """Share of the actions of an answer's steps that have no observation, 0..1.

    As a gate, a threshold is an upper bound. An observation without results is one. Unscored if actions could
    not be read; not applicable without actions. The details hold the indexes of the steps with such actions.

    When to use: Find searches of which nothing came back, and logs without the results of searches.
    """

    name: ClassVar[str] = "unobserved_actions"
    needs: ClassVar[str] = "answers of a search engine with the actions of their steps"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Counts the actions of a recorded answer."""
        answer = pair.actual.grounded if pair.actual else None
        if answer is None:
            return None
        if unread := answer.why_unread("steps.actions"):
            return Score(None, reason=unread)
        total = sum(step.actions for step in answer.steps)
        if not total:
            return None
        lacking = [index for index, step in enumerate(answer.steps) if step.observed < step.actions]
        unobserved = total - sum(step.observed for step in answer.steps)
        return Score(
            unobserved / total,
            explanation=f"{unobserved} of {total} actions have no observation." if unobserved else None,
            details={"steps": lacking[:LISTED], "unobserved": unobserved, "actions": total},
        )
