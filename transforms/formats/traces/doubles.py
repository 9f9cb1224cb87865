"""Calls that several writers recorded, or one writer in several spans, counted once."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from turnwise.transforms.formats.traces.calls import asks
from turnwise.transforms.formats.traces.message import SYSTEM, SpanMessage
from turnwise.transforms.formats.traces.step import SpanStep
from turnwise.transforms.formats.traces.tree import SpanNode

_MOST_NEAR = 64


def mark_doubles(nodes: Sequence[SpanNode]) -> None:
    """Marks the spans that record a call once more, and reads them into the first.

    They are a model call below a model call, a tool call below the same tool, repeated reply ids, and model
    calls beside each other.

    Args:
        nodes: The spans of a tree, in order.
    """
    known = [node for node in nodes if node.step.kind is not None]
    models = [node for node in known if node.step.kind == "model"]
    _open_wrappers(models)
    replies: dict[tuple[str, str], SpanNode] = {}
    for node in sorted(known, key=attrgetter("depth")):
        step, same = node.step, None
        above = node.known_above() if step.kind in ("model", "tool") else None
        if step.kind == "model":
            same = above if above is not None and above.step.kind == "model" else None
            if step.response_id and same is None:
                first = replies.setdefault((node.span.trace, step.response_id), node)
                same = first if _is_same_reply(first, node) else None
        elif step.kind == "tool" and above is not None and above.step.kind == "tool":
            same = above if _is_same_tool(above.step, step) else None
        if same is not None and same is not node:
            _join(node, same)
    _mark_beside([node for node in models if not node.is_double and node.step.kind == "model"])


def _is_same_tool(above: SpanStep, step: SpanStep) -> bool:
    """Returns whether a tool's span below another one records the same call: a tool may call itself."""
    is_equal = above.args is None or step.args is None or above.args == step.args
    return above.name == step.name and is_equal


def _join(node: SpanNode, same: SpanNode) -> None:
    """Reads a double into the span whose call it records; the error of a tool too, if another wrote it."""
    node.is_double = True
    while same.is_double and same.parent is not None:
        same = same.parent
    is_others = bool(node.span.scope) and node.span.scope != same.span.scope
    if node.step.kind == "tool" and is_others and not same.step.error:
        same.step.error = node.step.error
    if node.step.kind == "model" and node.step.output and asks(same):
        same.step.output = node.step.output
    same.step.fill(node.step)


def _open_wrappers(models: Iterable[SpanNode]) -> None:
    """Reads a model's span that holds several calls with other replies as a step that holds them."""
    below: dict[int, list[SpanNode]] = {}
    for node in models:
        above = node.known_above()
        if above is not None and above.step.kind == "model" and node.step.output:
            below.setdefault(id(above), []).append(node)
    for found in below.values():
        above = found[0].known_above()
        if above is not None and len(found) > 1 and not _signs(found[0].step.output, found[-1].step.output):
            above.step.kind, above.step.output = "chain", None


def _is_same_reply(one: SpanNode, other: SpanNode) -> bool:
    """Returns whether model calls with one reply id are one: the same reply, at one time or to one request.

    Gateways and test doubles give the same id to many replies.
    """
    if not _signs(one.step.output, other.step.output):
        return False
    if _signs(one.step.input, other.step.input):
        return True
    return one.span.is_log or other.span.is_log or _overlap(one, other)


def _mark_beside(models: Sequence[SpanNode]) -> None:
    """Marks a model call beside one that another writer, or a later record of the same writer, states."""
    beside: dict[tuple[str, int], list[tuple[SpanNode, set[str]]]] = {}
    for node in models:
        near = beside.setdefault((node.span.trace, id(node.parent)), [])
        for first, scopes in near[-_MOST_NEAR:] if node.parent is not None else ():
            if node.span.scope not in scopes and _is_same_call(first, node):
                scopes.add(node.span.scope)
                _join(node, first)
                break
        else:
            near.append((node, set()))


def _is_same_call(one: SpanNode, other: SpanNode) -> bool:
    """Returns whether two model calls below one span are one, given in order.

    Of two writers they are if they state nothing different: the same messages or, where one states none, the
    same tokens or an error at one time. Of one writer they are if the later is a mere point in time that adds
    the reply.
    """
    first, second = one.step, other.step
    if one.span.scope == other.span.scope:
        is_point = other.span.start == other.span.end and not first.output and not first.error
        may_be = is_point and bool(first.input and second.input and second.output)
    else:
        may_be = _states_same(first, second, _overlap(one, other))
    if first.response_id and second.response_id and first.response_id != second.response_id:
        return False
    return may_be and _signs(first.input, second.input) and _signs(first.output, second.output)


def _states_same(first: SpanStep, second: SpanStep, at_one_time: bool) -> bool:
    # A wrapper of a stream may end before the request that it wraps begins.
    names = sorted((first.name or "", second.name or ""), key=len)
    if names[0] not in names[1] or (first.usage and second.usage and first.usage != second.usage):
        return False
    is_whole = bool(first.input and second.input and first.output and second.output)
    is_measured = bool(first.usage and second.usage) or bool(first.error and second.error)
    return is_whole or (is_measured and at_one_time)


def _overlap(one: SpanNode, other: SpanNode) -> bool:
    return one.span.start < other.span.end and other.span.start < one.span.end


def _signs(one: list[SpanMessage] | None, other: list[SpanMessage] | None) -> bool:
    """Returns whether two lists of messages are equal but for the system's, or one is not stated."""
    return not one or not other or _signs_of(one) == _signs_of(other)


def _signs_of(messages: Iterable[SpanMessage]) -> list[object]:
    return [each.sign for each in messages if each.role != SYSTEM]
