"""failed_steps: share of an answer's steps that failed."""

from typing import ClassVar, Literal

from turnwise.schemas.conversation import FAILED, SUCCEEDED, GroundedStep
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import listed
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair

_QUOTED = 200


class FailedSteps(MeasuredCriterion):
    """Share of the steps on the way to an answer that failed, 0..1.

    As a gate, a threshold is an upper bound. Unscored if a step is stated neither to have failed nor to have
    succeeded, or if steps could not be read; not applicable without steps, nor if no step states how it ended
    (unscored if there is a threshold). The details hold the state of every step, and how many of its actions
    have an observation.

    When to use: Find answers that were made although a step failed.
    """

    name: ClassVar[str] = "failed_steps"
    needs: ClassVar[str] = "answers of a search engine with the states of their steps"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Counts the failed steps of a recorded answer."""
        answer = pair.actual.grounded if pair.actual else None
        if answer is None:
            return None
        steps, details = answer.steps, listed([_details(step) for step in answer.steps], "steps")
        if unread := answer.why_unread("steps.state"):
            return Score(None, reason=unread, details=details)
        if not steps:
            return None
        if all(step.state is None for step in steps):
            return self.not_logged(pair)
        unknown = [step.state for step in steps if step.state not in (FAILED, SUCCEEDED)]
        if unknown:
            reason = f"{len(unknown)} of {len(steps)} steps have no final state; the first: {unknown[0]}"
            return Score(None, reason=reason, details=details)
        failed = sum(step.state == FAILED for step in steps)
        text = f"{failed} of {len(steps)} steps failed." if failed else None
        return Score(failed / len(steps), explanation=text, details=details)


def _details(step: GroundedStep) -> JsonObject:
    return {
        "state": step.state,
        "description": step.description[:_QUOTED] if step.description else None,
        "actions": step.actions,
        "observed": step.observed,
    }
