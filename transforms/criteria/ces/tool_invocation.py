"""tool_invocation_score: CES's check of the tools of a golden turn."""

from typing import ClassVar

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.criteria.reasons import calls_text
from turnwise.transforms.matching.calls import tool_identity
from turnwise.transforms.matching.expectations import ExpectationOutcome, tool_threshold
from turnwise.transforms.matching.sample import Sample, TurnPair


class ToolInvocation(MeasuredCriterion):
    """Share of the tools expected in a turn that were called, 0..1 (CES's toolInvocationScore).

    The details hold the share called in the expected order, every call's parameterCorrectnessScore and the
    extra calls. Without a threshold of its own, a CES case's thresholds decide.

    When to use: Check the tools of CES cases, with partial credit.
    """

    name: ClassVar[str] = "tool_invocation_score"
    needs: ClassVar[str] = "expected calls"
    rests_on: ClassVar[RestsOn] = ("calls",)
    needs_expected_calls: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Checks a turn's calls; None if the golden turn expects no call."""
        if pair.expected is None or sample.eval_case is None:
            return None
        replay = sample.replay(pair)
        if replay.tool_score is None:
            return None
        calls = [o for o in replay.outcomes if o.expectation and o.expectation.kind == "tool_call"]
        extra = [o for o in replay.outcomes if o.expectation is None and o.observed_as == "tool_call"]
        details = {
            "ordered": replay.ordered_score,
            "calls": [_call_detail(outcome) for outcome in calls],
            "extra": [tool_identity(o.observed) for o in extra],  # type: ignore[arg-type]
        }
        score = Score(replay.tool_score, label=pair.label, details=details)
        if self.threshold is None and sample.eval_case.dialect == "ces":
            score.threshold, score.outcome = (
                tool_threshold(sample.eval_case, pair.expected),
                replay.tool_outcome,
            )
        return score

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        """Returns the expected tools that were not called."""
        why = super().why_failed(sample, pair, score)
        outcomes = sample.replay(pair).outcomes if pair is not None else []
        missed = [
            o.expectation.tool_call
            for o in outcomes
            if o.expectation is not None and o.expectation.tool_call is not None and o.observed is None
        ]
        made = pair.actual.tool_calls if pair is not None and pair.actual is not None else []
        return f"{why} Not called: {calls_text(missed)}. Made: {calls_text(made)}."


def _call_detail(outcome: ExpectationOutcome) -> JsonObject:
    call = outcome.expectation.tool_call if outcome.expectation else None
    parameters = outcome.parameters
    return {
        "tool": tool_identity(call) if call else None,
        "called": outcome.observed is not None,
        "parameters": parameters.value if parameters else None,
        "wrong": list(parameters.wrong) if parameters else [],
        "outcome": outcome.parameter_outcome,
    }
