"""Times of turns and of their spans."""

from collections.abc import Sequence

from turnwise.schemas.conversation import TimedSpan, Turn
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.formats.spellings import length
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.tree import SpanNode

_MS = 1e6


def add_times(turn: Turn, line: TurnLine) -> None:
    """Adds when a turn began, and how long it took where its spans state it."""
    is_whole = sum(len(unit.main) for unit in line.units) == len(line.main)
    tops = [unit.top for unit in line.units if unit.top is not None] if is_whole else []
    nodes = [top for top in tops if top.span.start] or [*line.main, *line.inner, *line.tools]
    starts = [node.span.start for node in nodes if node.span.start]
    if starts:
        turn.timestamp = min(starts) / 1e9
        if all(node.span.end for node in nodes):
            turn.latency_ms = _work_ms(nodes)


def _work_ms(nodes: Sequence[SpanNode]) -> float | None:
    """Returns the time in which traces ran, without waits between them; None: no span states a length."""
    traces: dict[str, tuple[int, int]] = {}
    for node in nodes:
        span = node.span
        first, last = traces.get(span.trace, (span.start, span.end))
        traces[span.trace] = min(first, span.start) or max(first, span.start), max(last, span.end)
    total = until = 0
    for first, last in sorted(pair for pair in traces.values() if pair[0]):
        if last < first:
            return None
        total += max(0, last - max(first, until))
        until = max(until, last)
    return length(total / _MS) if total else None


def _order(node: SpanNode) -> tuple[int, int, str, str]:
    return node.order


def _is_timed(node: SpanNode) -> bool:
    return 0 < node.span.start <= node.span.end


def _timed(node: SpanNode) -> TimedSpan:
    span, is_tool = node.span, node.step.kind == "tool"
    seconds = (span.end - span.start) / 1e9
    times = (rfc3339_of(span.start), rfc3339_of(span.end))
    return TimedSpan("TOOL" if is_tool else "LLM", node.step.name, None, *times, seconds=min(seconds, 3e11))


def rfc3339_of(nanos: int) -> str | None:
    """Returns nanoseconds since the epoch as RFC 3339; None: 0, or out of range."""
    try:
        return nanos_timestamp(nanos) if nanos else None
    except ValueError:
        return None


def total_ms(nodes: Sequence[SpanNode]) -> float | None:
    """Returns the sum of lengths; None: a span does not state its own, or all state 0."""
    lengths = [node.span.end - node.span.start for node in nodes if _is_timed(node)]
    return length(sum(lengths) / _MS) if any(lengths) and len(lengths) == len(nodes) else None


def timed_spans(nodes: Sequence[SpanNode]) -> list[TimedSpan]:
    """Returns the calls of models and tools that state their times, in order."""
    return [_timed(node) for node in sorted(nodes, key=_order) if _is_timed(node)]
