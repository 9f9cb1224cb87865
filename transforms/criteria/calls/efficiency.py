"""google-adk's efficiency figures of a turn: counts and tokens. A threshold makes them gates from above."""

from typing import ClassVar, Literal

from pydantic import StrictBool

from turnwise.schemas.conversation import Usage
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class Figure(MeasuredCriterion):
    """A figure that informs: open-ended, lower is better."""

    scale: ClassVar[tuple[float, float] | None] = None
    unit: ClassVar[Literal["score", "seconds", "count"]] = "count"
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"
    harm: ClassVar[CriterionHarm] = "other"
    rests_on: ClassVar[RestsOn] = ()


class ToolCallCount(Figure):
    """Number of the agent's tool calls in a turn.

    When to use: Limit or compare how many tools are called.

    Attributes:
        adk_compat: Count as google-adk does, whatever it does not look at.
    """

    name: ClassVar[str] = "tool_call_count_v1"
    rests_on: ClassVar[RestsOn] = ("calls",)

    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Counts the calls of a recorded turn."""
        return Score(float(len(pair.actual.tool_calls))) if pair.actual else None


class InferenceCallCount(Figure):
    """Number of model calls in a turn; no score if not logged, unscored if there is a threshold.

    When to use: Limit or compare how often the model is called.
    """

    name: ClassVar[str] = "inference_call_count_v1"
    needs: ClassVar[str] = "logged model calls"
    applies_always: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the log's count."""
        if pair.actual is None or pair.actual.inference_calls is None:
            return self.not_logged(pair)
        return Score(float(pair.actual.inference_calls))


class TokenUsage(Figure):
    """Tokens of a turn's model calls, input plus output.

    No score if not reported; unscored if there is a threshold.

    When to use: Limit or compare the cost of a turn.

    Attributes:
        adk_compat: Count a turn without a report as 0 tokens in a conversation's mean, as google-adk does.
    """

    name: ClassVar[str] = "token_usage_v1"
    needs: ClassVar[str] = "logged tokens"
    applies_always: ClassVar[bool] = True

    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Adds up the tokens that the log reports for a turn."""
        usage = pair.actual.usage if pair.actual else None
        if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
            return None if self.adk_compat else self.not_logged(pair)
        details = {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cached": usage.cached_tokens,
            "reasoning": usage.reasoning_tokens,
        }
        return Score(_total(usage), details=details)

    def score_conversation(self, sample: Sample) -> Score | None:
        """Returns the mean over all recorded turns with `adk_compat`, if one of them has a report."""
        turns = [pair.actual for pair in sample.evaluable if pair.actual]
        reports = [turn.usage for turn in turns if turn.usage]
        reported = [u for u in reports if u.input_tokens is not None or u.output_tokens is not None]
        if not self.adk_compat or not reported:
            return None
        return Score(sum(map(_total, reported)) / len(turns))


def _total(usage: Usage) -> float:
    return float((usage.input_tokens or 0) + (usage.output_tokens or 0))
