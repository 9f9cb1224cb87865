"""Latencies in seconds: of turns, of tool calls, and of every timed step of a turn."""

from typing import ClassVar, Literal

from schemas.conversation import Span
from schemas.score import Score
from transforms.conversation_case import ConversationCase, TurnPair
from transforms.criteria.efficiency import Figure


class TurnLatency(Figure):
    """Seconds from the user's message to the end of the turn.

    Not applicable where the log has no clock, nor to a turn that the agent opened in no time.
    """

    name: ClassVar[str] = "turn_latency"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Returns the log's duration of a recorded turn."""
        if pair.actual is None or pair.actual.latency_ms is None:
            return None
        if not pair.actual.user and not pair.actual.latency_ms:
            return None
        return Score(pair.actual.latency_ms / 1000)


class InvocationDuration(TurnLatency):
    """google-adk's name for the duration of a turn, split into model, tool and framework time."""

    name: ClassVar[str] = "invocation_duration_v1"

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Returns the duration of a recorded turn with its shares, in seconds."""
        score, turn = super().score(case, pair), pair.actual
        if score is None or turn is None or turn.latency_ms is None:
            return None
        framework = max(turn.latency_ms - (turn.model_ms or 0.0) - (turn.tool_ms or 0.0), 0.0)
        score.details = {
            "model": None if turn.model_ms is None else turn.model_ms / 1000,
            "tool": None if turn.tool_ms is None else turn.tool_ms / 1000,
            "framework": round(framework / 1000, 3),
        }
        return score


class ToolCallLatency(Figure):
    """Seconds of every timed tool call; one score a call, labelled with the tool."""

    name: ClassVar[str] = "tool_call_latency"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"

    def score(self, case: ConversationCase, pair: TurnPair) -> list[Score] | None:
        """Returns the lengths of a recorded turn's tool spans, in order."""
        spans = pair.actual.spans if pair.actual else []
        return [Score(span.seconds, label=span.name) for span in spans if span.type == "TOOL"] or None


class SpanLatency(Figure):
    """Seconds of every timed step; one score a span, labelled with its type and name."""

    name: ClassVar[str] = "span_latency"
    unit: ClassVar[Literal["score", "seconds", "count"]] = "seconds"

    def score(self, case: ConversationCase, pair: TurnPair) -> list[Score] | None:
        """Returns the lengths of a recorded turn's spans, in order."""
        spans = pair.actual.spans if pair.actual else []
        return [Score(span.seconds, label=_span_label(span)) for span in spans] or None


def _span_label(span: Span) -> str:
    return f"{span.type} {span.name}" if span.name else span.type
