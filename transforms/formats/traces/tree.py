"""The tree of spans: deliveries merged, parents found."""

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from turnwise.transforms.formats.messages.kinds import SYSTEM
from turnwise.transforms.formats.messages.parts import SpanMessage, is_spoken
from turnwise.transforms.formats.traces.dialect import SpanStep
from turnwise.transforms.formats.traces.read_span import read_span
from turnwise.transforms.formats.traces.span import PENDING, TraceSpan

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


# Units of work: what one agent run, one workflow or one bare model call did.


class WorkUnit(Struct, eq=False):
    """A topmost agent or workflow with all that stands below it, or the bare calls of a trace.

    Attributes:
        top: The agent or workflow; None: bare calls.
        main: Model calls of the main line: those of no agent that a tool called.
        inner: All other model calls.
        tools: Tool calls.
        handoffs: Hand-offs.
    """

    top: SpanNode | None
    main: list[SpanNode] = field(default_factory=list)
    inner: list[SpanNode] = field(default_factory=list)
    tools: list[SpanNode] = field(default_factory=list)
    handoffs: list[SpanNode] = field(default_factory=list)

    @property
    def nodes(self) -> list[SpanNode]:
        """All spans that are steps, with the top."""
        top = [self.top] if self.top is not None else []
        return [*top, *self.main, *self.inner, *self.tools, *self.handoffs]

    @property
    def trace(self) -> str:
        """Id of the trace."""
        return self.nodes[0].span.trace

    @property
    def given(self) -> list[SpanMessage]:
        """Messages that the agent was given; empty: not stated, or only its instructions are."""
        given = (self.top.step.input if self.top is not None else None) or []
        return given if is_spoken(given) else []

    @property
    def answer(self) -> list[SpanMessage]:
        """Messages that the agent gave; empty: not stated."""
        return (self.top.step.output if self.top is not None else None) or []


def work_units(nodes: Sequence[SpanNode]) -> list[WorkUnit]:
    """Returns the units of work of a tree's spans, given in order, in the order of their starts."""
    units: dict[object, WorkUnit] = {}
    below: dict[int, list[SpanNode]] = {}
    for node in nodes:
        kind = node.step.kind
        if node.is_double or kind in (None, "other"):
            continue
        top = node.top()
        key: object = node.span.trace if top is None else id(top)
        unit = units.setdefault(key, WorkUnit(top))
        below.setdefault(id(unit), []).append(node)
        if kind == "tool":
            unit.tools.append(node)
        elif kind == "handoff":
            unit.handoffs.append(node)
    for unit in units.values():
        is_inner: dict[int, bool] = {}
        for node in below[id(unit)]:
            if node.step.kind == "model":
                place = id(node.parent)
                if place not in is_inner:
                    is_inner[place] = _is_inner(node, unit.tools)
                (unit.inner if is_inner[place] else unit.main).append(node)
    found = [unit for unit in units.values() if unit.top is not None or unit.main or unit.inner or unit.tools]
    return sorted(found, key=lambda unit: min(node.order for node in unit.nodes))


def _is_inner(node: SpanNode, tools: Sequence[SpanNode]) -> bool:
    """Returns whether a model call is of an agent that a tool called: below it, or beside it at its time."""
    above = list(node.above())
    if any(each.step.kind in ("tool", "other") for each in above):
        return True
    agents = [each for each in above if each.step.kind == "agent"]
    return any(_is_within(agent, tool) for agent in agents for tool in tools)


def _is_within(agent: SpanNode, tool: SpanNode) -> bool:
    own, other = agent.span, tool.span
    is_apart = own.trace == other.trace and agent not in tool.above()
    return is_apart and 0 < other.start <= own.start and own.end <= other.end


# ReAct agents, which tell their models the results of tools in messages of a user.

_OBSERVATION = re.compile(r"\s*Observation:")
_ACTION = re.compile(r"^\s*\**Action\b", re.MULTILINE)
"""How such an agent begins the message, and the line of the reply before it."""


def tells_result(unit: WorkUnit, node: SpanNode, before: SpanNode) -> bool:
    """Returns whether a message of a user is `Observation: RESULT`, as ReAct agents tell their models."""
    messages = [each for each in node.step.input or () if each.role != SYSTEM]
    told = messages[-1].text if messages else ""
    if not _OBSERVATION.match(told):
        return False
    is_react = any(_ACTION.search(each.text) for each in before.step.output or ())
    return is_react or any(map(told.endswith, _results(unit, node)))


def _results(unit: WorkUnit, node: SpanNode) -> Iterator[str]:
    """Yields the results of the tools that ran before a model call, as far as they are texts."""
    for tool in unit.tools:
        if tool.span.end <= node.span.start and isinstance(tool.step.result, str) and tool.step.result:
            yield tool.step.result
