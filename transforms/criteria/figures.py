"""Latencies in seconds: of turns, of tool calls, and of every timed step of a turn."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from turnwise.schemas.conversation import TimedSpan
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.calls.efficiency import Figure
from turnwise.transforms.matching.sample import Sample, TurnPair

_DECIMALS = 3


class TurnLatency(Figure):
    """Seconds from the user's message to the end of the turn.

    No score without logged times (unscored if there is a threshold), nor for a turn that the agent opened
    with zero latency.

    When to use: Measure how long users wait.
    """

    name: ClassVar[str] = "turn_latency"
    needs: ClassVar[str] = "logged times of turns"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"
    applies_always: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the log's duration of a recorded turn; unscored where it cannot be read."""
        if pair.actual is None or pair.actual.latency_ms is None:
            return _unread(pair) or self.not_logged(pair)
        if not pair.actual.user and not pair.actual.latency_ms:
            return None
        return Score(pair.actual.latency_ms / 1000)


class InvocationDuration(Figure):
    """google-adk's duration of a turn, split into model, tool and framework time.

    Framework time is the remainder; None if model or tool time is missing.

    When to use: google-adk's figure of the same name is needed.
    """

    name: ClassVar[str] = "invocation_duration_v1"
    needs: ClassVar[str] = "logged times of turns"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"
    applies_always: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the duration of a recorded turn with its shares, in seconds; unscored if unread."""
        turn = pair.actual
        if turn is None or turn.latency_ms is None:
            return _unread(pair) or self.not_logged(pair)
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

    With a threshold, calls without a logged time leave their turn unscored.

    When to use: Find slow tools.
    """

    name: ClassVar[str] = "tool_call_latency"
    needs: ClassVar[str] = "logged times of tool calls"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"

    def score(self, sample: Sample, pair: TurnPair) -> list[Score] | None:
        """Returns the lengths of a recorded turn's tool spans, in order."""
        if pair.actual is None:
            return None
        spans = (span for span in pair.actual.spans if span.type == "TOOL")
        found = [Score(span.seconds, label=span.name) for span in spans]
        calls = len(pair.actual.tool_calls)
        if self.threshold is not None and len(found) < calls:
            reason = f"{calls - len(found)} of {calls} tool calls have no time in the log"
            found.append(Score(None, reason=reason))
        return found or None


class SpanLatency(Figure):
    """Seconds of every timed step: tool, model, callback, guardrail.

    One score a span, labelled with its type and name. With a threshold, a turn without spans is unscored.

    When to use: Find the slow steps of a turn.
    """

    name: ClassVar[str] = "span_latency"
    needs: ClassVar[str] = "logged times of tools or models"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"
    applies_always: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> list[Score] | Score | None:
        """Returns the lengths of a recorded turn's spans, in order."""
        spans = pair.actual.spans if pair.actual else []
        return [Score(span.seconds, label=_span_label(span)) for span in spans] or self.not_logged(pair)


def _unread(pair: TurnPair) -> Score | None:
    """Returns an unscored score for an unreadable duration; None: no duration is logged."""
    reason = pair.actual.unknown_latency if pair.actual is not None else None
    return Score(None, reason=reason) if reason else None


def _span_label(span: TimedSpan) -> str:
    return f"{span.type} {span.name}" if span.name else span.type
