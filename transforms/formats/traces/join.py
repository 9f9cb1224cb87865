"""Spans of one conversation, joined into it."""

from collections import Counter
from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, Turn
from turnwise.transforms.formats.endings import End, error_end, finished_end
from turnwise.transforms.formats.traces.declared import declared
from turnwise.transforms.formats.traces.doubles import mark_doubles
from turnwise.transforms.formats.traces.events_of_calls import join_events
from turnwise.transforms.formats.traces.history import HISTORIES
from turnwise.transforms.formats.traces.labels import (
    configured_version,
    environment_of,
    service_version,
    user_of,
)
from turnwise.transforms.formats.traces.lines import TurnLine, turn_lines
from turnwise.transforms.formats.traces.losses import add_missing, add_orphans
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.times import rfc3339_of
from turnwise.transforms.formats.traces.tree import SpanNode, span_tree
from turnwise.transforms.formats.traces.turns import line_turn
from turnwise.transforms.formats.traces.units import work_units
from turnwise.transforms.formats.unread import UNREAD, check_calls, gaps

STEPS = ("model", "tool", "agent", "chain", "handoff")


def join_spans(conversation_id: str, spans: Sequence[TraceSpan]) -> Conversation:
    """Joins the spans of a conversation, in any order.

    Raises:
        ValueError: None of them is a step of an agent; one line.
    """
    try:
        nodes = span_tree(spans)
        mark_doubles(nodes)
        join_events(nodes)
    finally:
        HISTORIES.clear()
    lines = turn_lines(work_units(nodes))
    if not lines:
        raise ValueError(f"{len(nodes)} spans, and none is a call of a model or a tool, or an agent")
    steps = [node for node in nodes if node.step.kind in STEPS]
    turns = [line_turn(line, index) for index, line in enumerate(lines)]
    end = _end(lines[-1])
    conversation = Conversation(
        conversation_id=conversation_id,
        source=_source(nodes),
        app_version=_version(nodes, steps),
        user_id=next(filter(None, (user_of(node.span) for node in nodes)), None),
        start_time=rfc3339_of(min((node.span.start for node in nodes if node.span.start), default=0)),
        tags=_tags(nodes, steps),
        turns=turns,
        ended=end.ended,
        ended_detail=end.detail,
        meta=_meta(nodes),
        tools=declared(steps),
    )
    add_orphans(nodes, turns)
    add_missing(nodes, turns)
    _add_unread(nodes, turns)
    check_calls(turns)
    return conversation


def _source(nodes: Sequence[SpanNode]) -> str:
    names = sorted({name for node in nodes for name in node.step.dialects})
    return f"spans ({', '.join(names)})"


def _version(nodes: Sequence[SpanNode], steps: Sequence[SpanNode]) -> str | None:
    stated = (node.step.version for node in nodes if node.step.version)
    spans = [node.span for node in steps]
    configured = filter(None, map(configured_version, spans))
    services = filter(None, map(service_version, spans))
    return next(configured, None) or next(stated, None) or next(services, None)


def _tags(nodes: Sequence[SpanNode], steps: Sequence[SpanNode]) -> list[str]:
    environments = (environment_of(node.span) for node in steps)
    tags = [*(tag for node in nodes for tag in node.step.tags), *filter(None, environments)]
    return list(dict.fromkeys(tags))


def _meta(nodes: Sequence[SpanNode]) -> dict[str, object]:
    """Returns the traces, and how many spans were steps, doubles of steps, or no steps (by scope)."""
    passed = Counter(node.span.scope or node.span.name for node in nodes if node.step.kind in (None, "other"))
    steps = sum(node.step.kind in STEPS and not node.is_double for node in nodes)
    doubles = sum(node.is_double for node in nodes)
    traces = list(dict.fromkeys(node.span.trace for node in nodes))
    counts = {"steps": steps, "doubles": doubles, "no_steps": dict(passed.most_common(20))}
    return {"trace_ids": traces, "spans": counts}


def _end(line: TurnLine) -> End:
    """Returns the end: an error of the last agent or model, or else the last finish reason.

    A text does not contradict an error: what was said before it may not have reached the user.
    """
    if line.failure is not None:
        return error_end(line.failure)
    tops = [unit.top for unit in line.units if unit.top is not None]
    output = (line.main[-1].step.output or []) if line.main else []
    stated = [node.step.finish for node in line.main[-1:]] + [each.finish for each in reversed(output)]
    for top in tops[-1:]:
        # Its messages are those of the whole turn, of which only the last one says how the turn ended.
        output = output or top.step.output or []
        stated += [top.step.finish, *(each.finish for each in (top.step.output or [])[-1:])]
    return finished_end(next(filter(None, stated), None), bool(output and output[-1].calls))


def _add_unread(nodes: Sequence[SpanNode], turns: Sequence[Turn]) -> None:
    """Adds a finding that counts what is not read, such as events of unknown types, by type."""
    counts = Counter(node.step.unread for node in nodes if node.step.unread)
    said = [f"{count} {what} are not read" for what, count in counts.most_common()]
    gaps(UNREAD, said, calls=False, words=False).add_to_all(turns)
