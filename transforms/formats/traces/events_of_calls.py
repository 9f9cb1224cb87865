"""Calls whose start and end are spans of their own: the later spans are read into the one that started it."""

from collections.abc import Iterable

from turnwise.transforms.formats.traces.dialect import text_at
from turnwise.transforms.formats.traces.tree import SpanNode

_OF_AGENTS = "agent."


def join_events(nodes: Iterable[SpanNode]) -> None:
    """Marks the spans, given in order, that say how a call went on, and fills the span of its start.

    Each start is a call. An end belongs to the first start of the same kind and name, in the same step of the
    agent, that has no end yet, and the call took until it. One without such a start stands for itself. Of a
    call without an end it is unknown how long it took: the span of its start ends with the whole run.
    """
    starts: dict[tuple[int, str | None, str | None], list[tuple[SpanNode, set[str]]]] = {}
    for node in nodes:
        step, event = node.step, node.step.event
        if event is None:
            continue
        if event != "told" and step.kind == "tool" and node.parent is not None:
            step.name = text_at(node.parent.span.attributes, "tool.name") or step.name
        holder = next((each for each in node.above() if not each.span.name.startswith(_OF_AGENTS)), None)
        begun = starts.setdefault((id(holder), step.kind, step.name), [])
        if event == "start":
            begun.append((node, set()))
        elif found := next((one for one in begun if event not in one[1]), None):
            _join(found[0], node)
            found[1].add(event)
    for start, events in (one for begun in starts.values() for one in begun):
        if "end" not in events:
            start.span.end = 0


def _join(start: SpanNode, node: SpanNode) -> None:
    node.is_double = True
    start.step.fill(node.step)
    if node.step.event == "end" and start.span.start <= node.span.start:
        start.span.end = node.span.start
