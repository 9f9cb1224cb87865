"""The tree of spans: deliveries merged, parents found."""

from collections.abc import Iterable
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from turnwise.transforms.formats.traces.read_span import read_span
from turnwise.transforms.formats.traces.span import PENDING, TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_CHOICE = "gen_ai.choice"
_HOLDING = ("agent", "chain")
_UNKNOWN = -1


class SpanNode(msgspec.Struct, eq=False, gc=False):
    """A span with what it is and where it stands.

    Attributes:
        span: The span.
        step: What dialects read in it.
        parent: The span above it; None: it is a root.
        depth: Number of spans above it; -1: not counted yet.
        is_double: Whether it records the call of a span above it once more.
        is_orphan: Whether it names a parent that is not there: it stands below the one root of its
            trace, or is read as a root.
        order: Start, depth and ids: never the order of the file.
    """

    span: TraceSpan
    step: SpanStep
    parent: "SpanNode | None" = None
    depth: int = _UNKNOWN
    is_double: bool = False
    is_orphan: bool = False
    order: tuple[int, int, str, str] = (0, 0, "", "")

    def above(self) -> "Iterable[SpanNode]":
        """Yields the spans above it, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def known_above(self) -> "SpanNode | None":
        """Returns the nearest span above that is no mere passage."""
        return next((node for node in self.above() if node.step.kind not in (None, "other")), None)

    def top(self) -> "SpanNode | None":
        """Returns the topmost agent or chain, itself included; None: there is none."""
        found = self if self.step.kind in _HOLDING else None
        for node in self.above():
            found = node if node.step.kind in _HOLDING else found
        return found


def merged_spans(spans: Iterable[TraceSpan]) -> list[TraceSpan]:
    """Returns one span an id: log records and repeated deliveries joined, pending copies dropped."""
    found: dict[tuple[str, str], TraceSpan] = {}
    for place, span in enumerate(spans):
        if span.attributes.get(PENDING) == "pending_span":
            continue
        key = span.key if span.id else (span.trace, f"#{place}")
        other = found.get(key)
        found[key] = span if other is None else _merged(other, span)
    return list(found.values())


def _merged(one: TraceSpan, other: TraceSpan) -> TraceSpan:
    """Returns the union of two records of a span, whichever came first."""
    if one == other:
        return one
    first, second = sorted(
        (one, other), key=lambda s: (s.is_log, -len(s.attributes), -s.end, -len(s.events), repr(s))
    )
    events = [*first.events, *(event for event in second.events if event not in first.events)]
    is_whole = not (first.is_log or second.is_log)
    return replace(
        first,
        parent=first.parent or second.parent,
        name=first.name or second.name,
        start=min(filter(None, (first.start, second.start)), default=0) if is_whole else first.start,
        end=max(first.end, second.end) if is_whole or first.is_log else first.end,
        attributes={**second.attributes, **first.attributes},
        events=sorted(events, key=lambda event: (event.time, event.name == _CHOICE)),
        error=first.error or second.error,
        message=first.message or second.message,
        scope=first.scope or second.scope,
        dropped=max(first.dropped, second.dropped),
        is_local=first.is_local or second.is_local,
        listed=[*first.listed, *second.listed],
        page=first.page or second.page,
        resource={**second.resource, **first.resource},
    )


def span_tree(spans: Iterable[TraceSpan]) -> list[SpanNode]:
    """Returns the spans in order, each below its parent; doubles are not marked."""
    nodes = {
        span.key if span.id else id(span): SpanNode(span, read_span(span)) for span in merged_spans(spans)
    }
    for node in nodes.values():
        parent = nodes.get((node.span.trace, node.span.parent)) if node.span.parent else None
        node.is_orphan = parent is None and bool(node.span.parent)
        node.parent = parent
    _adopt_orphans(nodes.values())
    for node in nodes.values():
        _set_depth(node)
        node.order = (node.span.start, node.depth, *node.span.key)
    ordered = sorted(nodes.values(), key=attrgetter("order"))
    return ordered


def _adopt_orphans(nodes: Iterable[SpanNode]) -> None:
    """Puts spans whose parents are missing below the one root of their trace at whose time they start."""
    orphans = [node for node in nodes if node.is_orphan]
    roots: dict[str, list[SpanNode]] = {}
    for node in nodes if orphans else ():
        if node.parent is None and not node.is_orphan:
            roots.setdefault(node.span.trace, []).append(node)
    for node in orphans:
        start = node.span.start
        near = [r for r in roots.get(node.span.trace, ()) if 0 < r.span.start <= start <= r.span.end]
        node.parent = near[0] if len(near) == 1 else None


def _set_depth(node: SpanNode) -> None:
    """Counts the spans above; a circle of parents is cut at its earliest span."""
    seen: dict[int, SpanNode] = {}
    above: SpanNode | None = node
    while above is not None and above.depth == _UNKNOWN:
        if id(above) in seen:
            first = min(seen.values(), key=lambda each: (each.span.start, each.span.key))
            first.parent, first.is_orphan = None, True
            return _set_depth(node)
        seen[id(above)] = above
        above = above.parent
    first_depth = 0 if above is None else above.depth + 1
    for depth, each in enumerate(reversed(seen.values()), first_depth):
        each.depth = depth
    return None
