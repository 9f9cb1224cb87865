"""Spans as a tree: deliveries merged, parents found, units of work in it, and the turns that they answer."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnwise.schemas.jsonio import grouped
from turnwise.transforms.formats.messages import parts
from turnwise.transforms.formats.messages.dialogue import TRANSFER
from turnwise.transforms.formats.messages.kinds import AGENT, SYSTEM, key_set
from turnwise.transforms.formats.traces.dialect import SpanStep, text_at
from turnwise.transforms.formats.traces.dialects import read_span
from turnwise.transforms.formats.traces.span import AGENT_COLUMN, CUT, NO_END, PENDING, TraceSpan

_UNKNOWN = -1


class SpanNode(msgspec.Struct, eq=False, gc=False):
    """A span with what it is and where it stands.

    Attributes:
        step: What dialects read in it.
        parent: The span above it; None: it is a root.
        depth: Number of spans above it; -1: not counted yet.
        is_double: Whether it records the call of a span above it once more.
        is_orphan: Whether its parent is missing: it stands below the one root of its trace, or is a root.
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


def _merged(span: TraceSpan, other: TraceSpan) -> TraceSpan:
    """Returns the union of two records of a span, whichever came first."""
    if span == other:
        return span
    first, second = sorted(
        (span, other), key=lambda s: (s.is_log, -len(s.attributes), -s.end, -len(s.events), repr(s))
    )
    events = [*first.events, *(event for event in second.events if event not in first.events)]
    is_whole = not (first.is_log or second.is_log)
    alike = ("parent", "name", "error", "message", "scope", "is_local", "page")
    return replace(
        first,
        **{field: getattr(first, field) or getattr(second, field) for field in alike},
        start=min(filter(None, (first.start, second.start)), default=0) if is_whole else first.start,
        end=max(first.end, second.end) if is_whole or first.is_log else first.end,
        attributes={**second.attributes, **first.attributes},
        events=sorted(events, key=lambda event: (event.time, event.name == "gen_ai.choice")),
        dropped=max(first.dropped, second.dropped),
        listed=[*first.listed, *second.listed],
        resource={**second.resource, **first.resource},
    )


def span_tree(spans: Iterable[TraceSpan]) -> list[SpanNode]:
    """Returns the spans in order, each below its parent; doubles are not marked."""
    # There is one span an id: log records and repeated deliveries are joined, pending copies dropped.
    merged: dict[tuple[str, str], TraceSpan] = {}
    for index, span in enumerate(spans):
        if span.attributes.get(PENDING) != "pending_span":
            key = span.key if span.id else (span.trace, f"#{index}")
            merged[key] = _merged(merged[key], span) if key in merged else span
    nodes = {key: SpanNode(span, read_span(span)) for key, span in merged.items()}
    roots = grouped((node.span.trace, node) for node in nodes.values() if not node.span.parent)
    for node in nodes.values():
        node.parent = nodes.get((node.span.trace, node.span.parent)) if node.span.parent else None
        node.is_orphan = node.parent is None and bool(node.span.parent)
    # What lacks its parent stands below the one root of its trace at whose time it starts.
    for span, node in ((node.span, node) for node in nodes.values() if node.is_orphan):
        near = [r for r in roots.get(span.trace, ()) if 0 < r.span.start <= span.start <= r.span.end]
        node.parent = near[0] if len(near) == 1 else None
    for node in nodes.values():
        seen: dict[int, SpanNode] = {}
        above: SpanNode | None = node
        while above is not None and above.depth == _UNKNOWN:
            if id(above) in seen:
                # A circle of parents is cut at its earliest span.
                first = min(seen.values(), key=lambda below: (below.span.start, below.span.key))
                first.parent, first.is_orphan = None, True
                seen, above = {}, node
            else:
                seen[id(above)] = above
                above = above.parent
        for depth, below in enumerate(reversed(seen.values()), 0 if above is None else above.depth + 1):
            below.depth = depth
        node.order = (node.span.start, node.depth, *node.span.key)
    return sorted(nodes.values(), key=attrgetter("order"))


class WorkSteps(Struct, eq=False, kw_only=True):
    """Steps of agents, in order; `main`: model calls of no agent that a tool called, `inner`: the others."""

    main: list[SpanNode] = []
    inner: list[SpanNode] = []
    tools: list[SpanNode] = []
    handoffs: list[SpanNode] = []

    @property
    def models(self) -> list[SpanNode]:
        """All model calls."""
        return [*self.main, *self.inner]


class WorkUnit(WorkSteps, eq=False):
    """A topmost agent or workflow with all that stands below it, or (None) the bare calls of a trace."""

    top: SpanNode | None
    asked_for: list[str] = []  # what the user answered when an agent waited for it

    @property
    def first(self) -> TraceSpan:
        """The span of its top, or else of its first step."""
        nodes = (self.top, *self.models, *self.tools, *self.handoffs)
        return next(node.span for node in nodes if node is not None)

    @property
    def given(self) -> list[parts.SpanMessage]:
        """Messages that the agent was given; empty: not stated, or only its instructions are."""
        given = (self.top.step.input if self.top is not None else None) or []
        return given if parts.is_spoken(given) else []

    @property
    def answer(self) -> list[parts.SpanMessage]:
        """Messages that the agent gave; empty: not stated."""
        return (self.top.step.output if self.top is not None else None) or []


def work_units(nodes: Sequence[SpanNode]) -> list[WorkUnit]:
    """Returns the units of work of a tree's spans, given in order, in the order of their starts."""
    units: dict[object, WorkUnit] = {}
    below: dict[int, list[SpanNode]] = {}
    for node in nodes:
        kind = node.step.kind
        if node.is_double or (kind in (None, "other") and not node.step.user):
            continue
        holding = [above for above in (node, *node.above()) if above.step.kind in ("agent", "chain")]
        top = holding[-1] if holding else None
        key: object = node.span.trace if top is None else id(top)
        unit = units.setdefault(key, WorkUnit(top))
        below.setdefault(id(unit), []).append(node)
        if kind == "tool":
            unit.tools.append(node)
        elif kind == "handoff":
            unit.handoffs.append(node)
        elif kind == "other":
            unit.asked_for += filter(None, (node.step.user,))
    for unit in units.values():
        is_inner: dict[int, bool] = {}
        for node in below[id(unit)]:
            if node.step.kind == "model":
                parent = id(node.parent)
                if parent not in is_inner:
                    # Of an agent that a tool called.
                    is_below_other = any(above.step.kind == "other" for above in node.above())
                    is_inner[parent] = is_below_other or enclosing_tool(node, unit.tools) is not None
                (unit.inner if is_inner[parent] else unit.main).append(node)
    return [unit for unit in units.values() if unit.top is not None or unit.main or unit.inner or unit.tools]


def enclosing_tool(node: SpanNode, tools: Sequence[SpanNode]) -> SpanNode | None:
    """Returns the tool that called the agent of a step: above that agent, or beside it at its time."""
    above = list(node.above())
    is_agents = node.step.kind == "model"
    for upper in above:
        if upper.step.kind == "tool" and is_agents:
            return upper
        is_agents = is_agents or upper.step.kind in ("agent", "model")
    for tool, agent in ((tool, agent) for agent in above if agent.step.kind == "agent" for tool in tools):
        is_at_its_time = 0 < tool.span.start <= agent.span.start and agent.span.end <= tool.span.end
        if is_at_its_time and agent.span.trace == tool.span.trace and agent not in tool.above():
            return tool
    return None


def agent_of(node: SpanNode) -> str | None:
    """Returns the name of the agent that made a step; None: no span says it."""
    if row := text_at(node.span.attributes, AGENT_COLUMN):
        return row
    nodes = (node, *node.above())
    agents = (above for above in nodes if above.step.kind == "agent")
    for name, held in ((agent.step.name, agent.span.attributes) for agent in agents):
        # Some writers state the name of the agent's model instead.
        if name and name not in (text_at(held, key) for key in _MODELS):
            match = _RUN_OF.fullmatch(name)
            return match[1] or match[2] if match else name
    return next(filter(None, (text_at(above.span.attributes, "gen_ai.agent.name") for above in nodes)), None)


_MODELS = key_set("gen_ai.request.model gen_ai.response.model ai.model.id langfuse.observation.model.name")
_RUN_OF = re.compile(r"agent_run \[(.+)\]|invoke_agent (.+)")
_OBSERVATION = re.compile(r"\s*Observation:")
_ACTION = re.compile(r"^\s*\**Action\b", re.MULTILINE)
"""How a ReAct agent begins the message that tells its model a result, and the line of the reply before it."""

_CONTROL_FLOW = ("GraphInterrupt", "NodeInterrupt", "ParentCommand", "Command(")
"""Exceptions by which LangGraph waits for a person or goes on elsewhere; they are no errors."""


class TurnLine(WorkSteps, eq=False):
    """What belongs to one turn.

    Attributes:
        user: The user's message; None: not stated.
        users: All messages of users that the first input holds, the newest last.
        units: Units of work, whole or in part.
        after: First input of the next turn: it may hold results of this one; empty: there is none.
        asked: The user's message as a model or an agent was given it; None: none was.
    """

    user: str | None = None
    users: tuple[str, ...] = ()
    units: list[WorkUnit] = []
    after: Sequence[parts.SpanMessage] = ()
    asked: parts.SpanMessage | None = None

    @property
    def tops(self) -> list[SpanNode]:
        """The topmost agents or workflows."""
        return [unit.top for unit in self.units if unit.top is not None]

    def asked_holds(self, part: str) -> bool:
        """Returns whether the user's message holds a part of a type, such as `CUT`, in place of words."""
        return self.asked is not None and part in self.asked.parts

    @property
    def has_answer(self) -> bool:
        """Whether an agent states its answer, or the last model call spoke and no call followed its words."""
        if any(top.step.output for top in self.tops):
            return True
        last = self.main[-1:]
        has_spoken = any(node.step.output and not node.step.asks_calls for node in last)
        return has_spoken and not any(tool.order > last[0].order for tool in self.tools)

    @property
    def failure(self) -> str | None:
        """The error of the last model call, or of what encloses it, above which no span states an answer."""
        last = self.main[-1:]
        nodes = [*last, *(above for node in last for above in node.above())]
        nodes = nodes or [unit.top for unit in self.units[-1:] if unit.top is not None]
        of_tools = [tool.step.error for tool in self.tools if tool.step.error]
        for index, node in enumerate(nodes):
            error = node.step.error
            is_failed = error and not (isinstance(error, str) and error.startswith(_CONTROL_FLOW))
            # Some writers mark all that follows a failed tool, the answer too.
            output = node.step.output or []
            is_answer = bool(output and output[-1].texts) and not any(message.calls for message in output)
            is_excused = (error in of_tools and is_answer) or (error == NO_END and self.has_answer)
            if is_failed and not (is_excused or any(above.step.output for above in nodes[index + 1 :])):
                return error if isinstance(error, str) else "error"
        return None


def turn_lines(units: Sequence[WorkUnit]) -> list[TurnLine]:
    """Returns the turns of a conversation's units, given in order."""
    lines: list[TurnLine] = []
    known: list[parts.SpanMessage] = []
    for unit in units:
        first = unit.given or _first_input(unit)
        if _stated(unit) is None and lines and _continues(unit, first, lines[-1], known):
            line = lines[-1]
        else:
            message, users = parts.new_user(first, known), parts.users_of(first)
            line = TurnLine(users=users) if message is None else _asked(message, users)
            line.user = _stated(unit) or line.user
            before = lines[-1] if lines else None
            # An agent's span without content may enclose the unit.
            if before and before.user is None and not (before.models or before.tools):
                top = before.units[-1].top
                is_one = top is not None and top.span.trace == unit.first.trace
                if top is not None and is_one and top.span.end >= unit.first.start:
                    line.units = lines.pop().units
            lines.append(line)
        _add_unit(line, unit, lines)
        # The history as it stands after the unit.
        last = next((node for node in reversed(unit.main) if node.step.input), None)
        known = known if last is None else [*(last.step.input or ()), *(last.step.output or ())]
    for line, following in pairwise(lines):
        line.after = next((node.step.input for node in following.main if node.step.input), ())
    return lines


def _first_input(unit: WorkUnit) -> list[parts.SpanMessage]:
    """Returns the first input of a model that is more than instructions; empty: there is none."""
    inputs = (node.step.input for node in unit.main)
    return next((given for given in inputs if given and parts.is_spoken(given)), [])


def _stated(unit: WorkUnit) -> str | None:
    return unit.top.step.user if unit.top is not None else None


def _continues(
    unit: WorkUnit, first: Sequence[parts.SpanMessage], line: TurnLine, known: Sequence[parts.SpanMessage]
) -> bool:
    """Returns whether a unit goes on with a turn: it has no message of a user that the turn did not have."""
    users, before = parts.users_of(first), line.units[-1]
    output = (line.main[-1].step.output if line.main else None) or []
    names = [call.name or "" for message in output for call in message.calls]
    # If the last model call only hands over, what the next agent is given is the agent's.
    hands_over = bool(names) and all(name.startswith(TRANSFER) for name in names)
    if before.first.trace == unit.first.trace and (not users or users == line.users or hands_over):
        if not users or unit.top is None or before.top is None or unit.top.step.name != before.top.step.name:
            return True
        # The same agent, after it had answered: an equal message was sent once more.
        answer = before.answer or (before.main[-1].step.output if before.main else None) or []
        is_answered = any(m.role == AGENT and m.texts and not m.calls for m in answer[-1:])
        is_over = not before.top.step.error and 0 < before.top.span.end <= unit.top.span.start
        return not (is_answered and is_over)
    asked = _first_input(unit)
    if asked and before.main and unit.main and unit.top is None and before.top is None:
        # A model call may soon repeat one that failed; what an agent's span says, the user saw.
        given = (asked, _first_input(before))
        texts, failed_texts = ([(m.role, m.text) for m in parts.spoken(messages)] for messages in given)
        has_failed = all(node.step.error and not node.step.output for node in before.main)
        waited = unit.main[0].span.start - before.main[-1].span.start
        if has_failed and texts == failed_texts and 0 <= waited <= 600 * 10**9:
            return True
    if _ends_in_results(asked) and parts.news(asked, known) == []:
        return True
    if not _ends_in_results(first):
        return False
    rest = parts.news(first, known)
    if rest is not None or not users:
        return not rest
    earlier = line.users or (line.user,)
    return len(users) <= len(earlier) and users[-1] == earlier[-1]


def _ends_in_results(messages: Sequence[parts.SpanMessage]) -> bool:
    return any(message.results for message in parts.spoken(messages)[-1:])


def _asked(message: parts.SpanMessage, users: tuple[str, ...]) -> TurnLine:
    line = TurnLine(message.text, users, asked=message)
    line.user = line.user or (None if line.asked_holds(CUT) or line.asked_holds(parts.HIDDEN_TEXT) else "")
    return line


def _add_unit(line: TurnLine, unit: WorkUnit, lines: list[TurnLine]) -> None:
    """Adds a unit to a turn; a model call whose input ends in a further message of the user opens another."""
    line.units.append(unit)
    starts = [0]
    begun = [line]
    for index, node in enumerate(unit.main):
        messages = node.step.input or []
        last = next((message for message in reversed(messages) if message.role != SYSTEM), None)
        is_asked = last is not None and last.is_users
        # Most inputs end in results: their users are those of the turn, and are not looked for.
        users = parts.users_of(messages) if is_asked or not (index and begun[-1].users) else ()
        if index and last is not None and is_asked and _asks_anew(unit, node, users, begun[-1]):
            begun.append(_asked(last, users))
            begun[-1].units = [unit]
            starts.append(node.span.start)
            lines.append(begun[-1])
        elif users and not (begun[-1].users and begun[-1].main):
            begun[-1].users = users
        begun[-1].main.append(node)
    for name in ("inner", "tools", "handoffs"):
        for node in getattr(unit, name):
            index = max(i for i, start in enumerate(starts) if i == 0 or node.span.start >= start)
            getattr(begun[index], name).append(node)


def _asks_anew(unit: WorkUnit, node: SpanNode, users: tuple[str, ...], line: TurnLine) -> bool:
    """Returns whether a model call, whose input ends in a message of a user, answers a further one."""
    # Where an agent states what it was asked, other texts are its own requests, such as to judge a draft.
    before, first = line.main[-1], parts.spoken(node.step.input or ())
    if first and first[-1].text in unit.asked_for:
        # Each answer opens one turn: the next call with it is a further attempt.
        unit.asked_for.remove(first[-1].text)
        return True
    if unit.given or _stated(unit) is not None or tries_again(node):
        return False
    if first and _OBSERVATION.match(first[-1].text):
        results = (tool.step.result for tool in unit.tools if tool.span.end <= node.span.start)
        is_result = any(isinstance(held, str) and held and first[-1].text.endswith(held) for held in results)
        if is_result or any(_ACTION.search(message.text) for message in before.step.output or ()):
            return False
    if line.users and len(users) > len(line.users) and users[: len(line.users)] == line.users:
        return True
    given, earlier, output = node.step.input or [], before.step.input or [], before.step.output or []
    if not output or any(message.calls for message in output):
        return False
    # It was given the reply before it, perhaps in a window of the history without the first messages.
    replies = {message.text.strip() for message in output} - {""}
    if any(message.role == AGENT and message.text.strip() in replies for message in given):
        return True
    # Or both answer a user without any history. Below an agent an equal message may be its next attempt.
    second = parts.spoken(earlier)
    is_alone = all(len(messages) == 1 and messages[0].is_users for messages in (first, second))
    systems = [[m.text for m in messages if m.role == SYSTEM] for messages in (given, earlier)]
    is_same_bot = node.parent is before.parent and systems[0] == systems[1]
    is_again = unit.top is None and 0 < before.span.end <= node.span.start
    return is_alone and is_same_bot and (is_again or first[0].text != second[0].text)


def tries_again(node: SpanNode) -> bool:
    """Returns whether Pydantic AI tells its model in words of the application to try again."""
    *_, before, last = [None, None, *parts.spoken(node.step.input or ())]
    is_after = before is not None and before.role == AGENT and node.span.scope == "pydantic-ai"
    return is_after and last is not None and last.text.endswith(parts.AGAIN)
