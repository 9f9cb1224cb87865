"""Units of work: what one agent run, one workflow or one bare model call did."""

from collections.abc import Sequence

from msgspec import Struct, field

from turnwise.transforms.formats.traces.message import SpanMessage, is_spoken
from turnwise.transforms.formats.traces.tree import SpanNode


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
