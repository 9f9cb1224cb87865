"""Figures of a conversation: latencies, tokens and calls, how it ended, and the recorded reward."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, StrictBool

from turnwise.schemas.config import TokenPrices
from turnwise.schemas.conversation import Turn, Usage
from turnwise.schemas.jsonio import short_repr
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn, Unit, is_answered
from turnwise.transforms.judging.limits import price_of
from turnwise.transforms.matching.sample import Sample, TurnPair, end_text, end_unclear


class OfWhole(MeasuredCriterion):
    """A measure of the conversation as a whole, whether or not answers failed."""

    rests_on = ()
    needs_answers = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        return None


class RecordedReward(OfWhole):
    """The reward in the log (`labels.reward`; of a record of messages, `reward`, too), 0 to 1.

    N/a for a conversation without a reward; no score if there is a threshold. No score if the
    reward is no number from 0 to 1.

    When to use: Compare versions by the reward of a simulator or test bench, or by a user's rating.
    """

    name = "recorded_reward"
    needs = "a reward in the log"
    applies_always = True

    def score_conversation(self, sample: Sample) -> Score | None:
        reward = (sample.conversation.labels or {}).get("reward")
        if reward is None:
            return None
        if not isinstance(reward, int | float) or not 0 <= reward <= 1:
            return Score(None, reason=f"the reward of the log is no number from 0 to 1: {short_repr(reward)}")
        return Score(float(reward))


class EndedNormally(OfWhole):
    """1.0 if the conversation ended normally or with a hand-off, else 0.0; the label says how it ended.

    No score if the log does not state the end, or if something other than the agent failed.

    When to use: Gate on how the conversation ended, or show it beside other scores.
    """

    name = "ended_normally"

    threshold: float | None = 1.0

    def score_conversation(self, sample: Sample) -> Score:
        conversation = sample.conversation
        ended, text = conversation.ended, end_text(conversation)
        if ended is None or end_unclear(conversation):
            return Score(None, label=ended, reason=text)
        value = float(ended in ("normally", "hand_off"))
        return Score(value, label=ended, explanation=f"{text[0].upper()}{text[1:]}.")


# google-adk's efficiency figures of a turn: counts and tokens. A threshold makes them gates from above.


class Figure(MeasuredCriterion):
    """A figure that informs: open-ended, lower is better."""

    scale = None
    unit: ClassVar[Unit] = "count"
    gate = "at_most"
    severity_reason = "other"
    rests_on: ClassVar[RestsOn] = ()


class ToolCallCount(Figure):
    """Number of the agent's tool calls in a turn.

    When to use: Limit or compare how many tools are called.

    Attributes:
        adk_compat: Count as google-adk does, whatever it does not look at.
    """

    name = "tool_call_count_v1"
    rests_on = ("calls",)

    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        calls = pair.actual.tool_calls if pair.actual else []
        number = sum(call.inside is None for call in calls) if self.adk_compat else len(calls)
        return Score(float(number)) if pair.actual else None


class InferenceCallCount(Figure):
    """Number of model calls in a turn; n/a if not logged, no score if there is a threshold.

    When to use: Limit or compare how often the model is called.
    """

    name = "inference_call_count_v1"
    needs = "logged model calls"
    applies_always = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.actual is None or pair.actual.inference_calls is None:
            return self.not_logged(pair.actual)
        return Score(float(pair.actual.inference_calls))


class TokenUsage(Figure):
    """Tokens of a turn's model calls, input plus output.

    N/a if not reported; no score if there is a threshold.

    When to use: Limit or compare the cost of a turn.

    Attributes:
        adk_compat: Count a turn without a report as 0 tokens in a conversation's mean, as google-adk does.
    """

    name = "token_usage_v1"
    needs = "logged tokens"
    applies_always = True

    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        usage = pair.actual.usage if pair.actual else None
        if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
            return None if self.adk_compat else self.not_logged(pair.actual)
        kinds = ("input", "output", "cached", "reasoning")
        return Score(_total(usage), details={kind: getattr(usage, f"{kind}_tokens") for kind in kinds})

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


class AgentCost(Figure):
    """Cost of the agent's model calls: tokens of the log at the prices of the config, in their currency.

    The conversation's is the sum over its turns; a threshold holds for turns and for the sum. Cached input
    has a price of its own where the config gives one. No score for a turn that states no tokens, or a model
    that has no price, and for its conversation.

    When to use: Limit or compare what conversations cost.

    Attributes:
        prices: Model, as the log names it, or a glob -> price of a million tokens; by default the config's.
    """

    name = "agent_cost"
    needs = "logged tokens, and prices in the config"
    unit = "money"
    applies_always = True

    prices: dict[str, TokenPrices] = Field(default_factory=dict)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the cost of a recorded turn; n/a without tokens for one that answers nobody."""
        turn = pair.actual
        if turn is None or turn.usage is None:
            return Score(None, f"not in the log (needs {self.needs})") if is_answered(turn) else None
        costs: dict[str, float] = {}
        for part in turn.usage.parts or [turn.usage]:
            if part.input_tokens is None or part.output_tokens is None:
                lacking = "input" if part.input_tokens is None else "output"
                return Score(None, f"the log states no {lacking} tokens of {part.model or 'a model'}")
            name, cached = part.model or "", part.cached_tokens or 0
            prices = price_of(self.prices, name)
            if prices is None:
                unpriced = f"no price of {short_repr(name)}" if name else "the log does not name the model"
                return Score(None, unpriced)
            if not 0 <= cached <= part.input_tokens or part.output_tokens < 0:
                counts = f"{part.input_tokens} in, {cached} of them cached, {part.output_tokens} out"
                return Score(None, f"the log's tokens cannot be: {counts}")
            cost = prices.cost(part.input_tokens, part.output_tokens, cached)
            costs[name] = costs.get(name, 0.0) + cost  # a log may state two parts of one model
        return Score(sum(costs.values()), details={"by_model": costs})

    def overall(self, turns: Sequence[Score]) -> Score | None:
        lacking = [score.reason for score in turns if score.value is None]
        if lacking:
            return Score(None, reason=f"{len(lacking)} of {len(turns)} turns without a cost: {lacking[0]}")
        return super().overall(turns)

    def mean(self, values: Sequence[float]) -> float:
        return sum(values)


_DECIMALS = 3


class Latency(Figure):
    """A figure in seconds."""

    unit = "seconds"
    applies_always = True

    def unmeasured(self, turn: Turn | None) -> Score | None:
        """Returns the score of a turn without a duration; no score where it cannot be read."""
        unread = turn.unknown_latency if turn is not None else None
        return Score(None, reason=unread) if unread else self.not_logged(turn)


class TurnLatency(Latency):
    """Seconds from the user's message to the end of the turn.

    N/a without logged times (no score if there is a threshold), and for a turn that the agent opened
    with zero latency.

    When to use: Measure how long users wait.
    """

    name = "turn_latency"
    needs = "logged times of turns"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.actual is None or pair.actual.latency_ms is None:
            return self.unmeasured(pair.actual)
        if not pair.actual.user and not pair.actual.latency_ms:
            return None
        return Score(pair.actual.latency_ms / 1000)


class InvocationDuration(Latency):
    """google-adk's duration of a turn, split into model, tool and framework time.

    Framework time is the remainder; None if model or tool time is missing.

    When to use: google-adk's figure of the same name is needed.
    """

    name = "invocation_duration_v1"
    needs = "logged times of turns"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        turn = pair.actual
        if turn is None or turn.latency_ms is None:
            return self.unmeasured(turn)
        total, framework = turn.latency_ms / 1000, None
        model = None if turn.model_ms is None else turn.model_ms / 1000
        tool = None if turn.tool_ms is None else turn.tool_ms / 1000
        if model is not None and tool is not None:
            framework = round(max(total - model - tool, 0.0), _DECIMALS)
        return Score(total, details={"model": model, "tool": tool, "framework": framework})

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean in whole milliseconds, as google-adk does."""
        return round(super().mean(values), _DECIMALS)


class ToolCallLatency(Figure):
    """Seconds of every timed tool call; one score a call, labelled with the tool.

    With a threshold, calls without a logged time leave their turn without a score.

    When to use: Find slow tools.
    """

    name = "tool_call_latency"
    needs = "logged times of tool calls"
    unit = "seconds"

    def score(self, sample: Sample, pair: TurnPair) -> list[Score] | None:
        if pair.actual is None:
            return None
        spans, calls = pair.actual.spans, len(pair.actual.tool_calls)
        scores = [Score(span.seconds, label=span.name) for span in spans if span.type == "TOOL"]
        if self.threshold is not None and len(scores) < calls:
            reason = f"{calls - len(scores)} of {calls} tool calls have no time in the log"
            scores.append(Score(None, reason=reason))
        return scores or None


class SpanLatency(Latency):
    """Seconds of every timed step: tool, model, callback, guardrail.

    One score a span, labelled with its type and name. With a threshold, a turn without spans has no score.

    When to use: Find the slow steps of a turn.
    """

    name = "span_latency"
    needs = "logged times of tools or models"

    def score(self, sample: Sample, pair: TurnPair) -> list[Score] | Score | None:
        spans = pair.actual.spans if pair.actual else []
        scores = [Score(s.seconds, label=" ".join(filter(None, (s.type, s.name)))) for s in spans]
        return scores or self.not_logged(pair.actual)
