"""Calls of a turn with their results: what models asked for and what tools did, each counted once."""

from collections.abc import Sequence

from msgspec import Struct
from pydantic_core import from_json

from turnwise.schemas.conversation import RAW, ToolCall, ToolResponse, decoded_arguments
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.message import (
    AGENT,
    TRANSFER,
    MessageCall,
    MessageResult,
    SpanMessage,
)
from turnwise.transforms.formats.traces.message_repr import is_repr_call, repr_calls
from turnwise.transforms.formats.traces.step import SpanStep
from turnwise.transforms.formats.traces.tree import SpanNode

_ASKING = ("tool_calls", "tool_call", "tool_use", "function_call", "function_calls")
_TARGETS = ("agent_name", "agentName", "agent")


class TurnCall(Struct, eq=False):
    """A call of a turn.

    Attributes:
        call: The call.
        time: When it was asked for or ran, nanoseconds since the epoch.
        tool: The span of its tool; None: there is none.
        given: The result that a later model call was given; None: none was.
        is_asked: Whether a model asked for it.
    """

    call: ToolCall
    time: int
    tool: SpanNode | None = None
    given: MessageResult | None = None
    is_asked: bool = True

    def response(self) -> ToolResponse | None:
        """Returns the result: of the tool's span, or else what the model was given, or else the error."""
        step = self.tool.step if self.tool is not None else None
        name, id_ = self.call.name, self.call.id
        error = (step.error if step is not None else None) or (self.given.error if self.given else None)
        if step is not None and step.has_result:
            return ToolResponse(name, id_, step.result, error)
        if self.given is not None:
            return ToolResponse(name, id_, self.given.response, error)
        return ToolResponse(name, id_, None, error) if error else None


def turn_calls(line: TurnLine) -> list[TurnCall]:
    """Returns the calls of a turn in time order."""
    calls = [
        TurnCall(ToolCall(call.name, _object(call.args), call.id), node.span.end or node.span.start)
        for node in (*line.main, *line.inner)
        for message in node.step.output or ()
        for call in (*message.calls, *repr_calls(message.texts))
    ]
    calls += _before(line) if line.main else _of_answers(line)
    calls += [
        TurnCall(ToolCall(call.name, _object(call.args), call.id), node.span.end or node.span.start)
        for node, asked in _asked_later(line)
        for call in asked
    ]
    for tool in sorted(line.tools, key=lambda node: node.order):
        _add_tool(tool, calls)
    if not line.main:
        for each in calls:
            each.time = each.tool.span.start if each.tool is not None else each.time
    calls.sort(key=lambda each: each.time)
    _add_given(line, calls)
    return calls


def asks(node: SpanNode) -> bool:
    """Returns whether a model call ended by asking for calls that its own output does not hold."""
    output = node.step.output or []
    finish = node.step.finish or next((each.finish for each in reversed(output) if each.finish), None) or ""
    word = finish.rpartition(".")[2].lower().replace("-", "_")
    return word in _ASKING and not any(each.calls or any(map(is_repr_call, each.texts)) for each in output)


def _asked_later(line: TurnLine) -> list[tuple[SpanNode, list[MessageCall]]]:
    """Returns the model calls that asked for what they do not state, with the calls in the next input."""
    found: list[tuple[SpanNode, list[MessageCall]]] = []
    for place, node in enumerate(line.main):
        if asks(node):
            following = line.main[place + 1].step.input if place + 1 < len(line.main) else line.after
            known = len(after_user(node.step.input or ()))
            added = after_user(following or ())[known:]
            found.append((node, [call for each in added if each.role == AGENT for call in each.calls]))
    return found


def lacks_calls(line: TurnLine, calls: Sequence[TurnCall]) -> bool:
    """Returns whether models asked for calls that neither a later input nor a tool's span names."""
    lacking = [node for node, asked in _asked_later(line) if not asked] + list(filter(asks, line.inner))
    first = min((node.span.start for node in lacking), default=0)
    return len(lacking) > sum(not each.is_asked and each.time >= first for each in calls)


def _before(line: TurnLine) -> list[TurnCall]:
    """Returns the calls that stand in the first input after the user's message: their spans are not there."""
    start = line.main[0].span.start
    return [
        TurnCall(ToolCall(call.name, _object(call.args), call.id), start)
        for message in after_user(line.main[0].step.input or ())
        for call in message.calls
    ]


def after_user(messages: Sequence[SpanMessage]) -> Sequence[SpanMessage]:
    """Returns the messages after the last one that a user wrote; none if no user wrote one."""
    last = _last_user(messages)
    return messages[last + 1 :] if last >= 0 else ()


def _last_user(messages: Sequence[SpanMessage]) -> int:
    """Returns the place of the last message that a user wrote; -1: there is none."""
    return next((place for place in range(len(messages) - 1, -1, -1) if messages[place].is_users), -1)


def _of_answers(line: TurnLine) -> list[TurnCall]:
    """Returns the calls in the answers of agents that recorded no model call."""
    return [
        TurnCall(ToolCall(call.name, _object(call.args), call.id), unit.top.span.start)
        for unit in line.units
        if unit.top is not None
        for message in unit.answer[_last_user(unit.answer) + 1 :]
        for call in message.calls
    ]


def _add_tool(tool: SpanNode, calls: list[TurnCall]) -> None:
    """Joins a tool's span to the call that asked for it: by id, else by name and order; or adds a call."""
    step = tool.step
    free = [each for each in calls if each.tool is None]
    found = next((each for each in free if step.call_id and each.call.id == step.call_id), None)
    if found is not None and step.name and found.call.name not in (None, step.name):
        found = None
    if found is None:
        named = [each for each in free if _is_same_name(each.call.name, step.name, step.target)]
        args = _object(step.args)
        found = max(named, key=lambda each: _likeness(each.call.args, args), default=None)
        # What was asked for later is no reason of an attempt, but a model's span may enclose its tools.
        if found is None or found.time > tool.span.end:
            found = _failed_before(step, calls) or found
    if found is None and step.target:
        return
    if found is None:
        found = TurnCall(ToolCall(step.name, None, step.call_id), tool.span.start, is_asked=False)
        calls.append(found)
    found.tool = tool
    # The span of a model may enclose the tools that it asked for.
    found.time = min(found.time, tool.span.start) if tool.span.start else found.time
    found.call.id = found.call.id or step.call_id
    found.call.name = found.call.name or step.name
    if found.call.args is None or RAW in found.call.args:
        stated = _object(step.args)
        found.call.args = stated if stated is not None else found.call.args


def _likeness(asked: JsonObject | None, ran: JsonObject | None) -> int:
    """Returns 2 for equal arguments, 1 if the tool's hold those that were asked for, and 0 for others."""
    if not asked or not ran:
        return 0
    return 2 if asked == ran else int(all(key in ran and ran[key] == asked[key] for key in asked))


def _failed_before(step: SpanStep, calls: Sequence[TurnCall]) -> TurnCall | None:
    """Returns the call of which a tool's span is a further attempt, after one that failed or was interrupted.

    Without ids it is the call of a model with the same name and arguments.
    """
    for each in calls:
        tried = each.tool.step if each.tool is not None else None
        if tried is not None and (tried.error or not tried.has_result):
            is_alike = each.is_asked and each.call.name == step.name and each.call.args == _object(step.args)
            if each.call.id == step.call_id if step.call_id else is_alike:
                return each
    return None


def _is_same_name(asked: str | None, name: str | None, target: str | None) -> bool:
    return bool(name) and (asked == name or (target is not None and asked == _handing_to(target)))


def _handing_to(target: str) -> str:
    return TRANSFER + target.lower().replace(" ", "_")


def _object(value: JsonValue) -> JsonObject | None:
    if isinstance(value, str) and value.lstrip()[:1] == '"':
        value = _unquoted(value)
    found = decoded_arguments(value)
    while found is not None and found.keys() == {RAW} and isinstance(found[RAW], str):
        inner = decoded_arguments(found[RAW])
        if inner == found or inner is None or RAW in inner:
            break
        found = inner
    return found


def _unquoted(text: str) -> JsonValue:
    """Returns what a JSON text of a JSON text holds; the text itself if it is none."""
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        return text
    return value


def _add_given(line: TurnLine, calls: Sequence[TurnCall]) -> None:
    """Adds the results that later model calls were given, by id, and else by name and order."""
    results = _results_of(line)
    open_ = [each for each in calls if each.tool is None or not each.tool.step.has_result]
    for result in results:
        found = next(
            (each for each in calls if result.id and each.call.id == result.id and not each.given), None
        )
        if found is not None:
            found.given = result
    for result in (result for each in line.after for result in each.results):
        for each in calls:
            if result.id and each.call.id == result.id and not each.given:
                each.given = result
    taken = [each.given for each in calls if each.given is not None]
    left = [result for result in results if not any(result is each for each in taken)]
    known = {each.call.id for each in calls}
    for result in left:
        if result.id and result.id in known:
            continue
        found = next((e for e in open_ if not e.given and (result.name in (None, e.call.name))), None)
        if found is not None:
            found.given = result


def _results_of(line: TurnLine) -> list[MessageResult]:
    """Returns the results after the user's message in the longest input, in agents' answers, and in replies.

    Agents that a tool called have inputs of their own.
    """
    inputs = [node.step.input for node in line.main if node.step.input]
    inner: dict[int, list[list[SpanMessage]]] = {}
    for node in line.inner:
        inner.setdefault(id(node.parent), []).append(node.step.input or [])
    found = _longest([*inputs, *(unit.answer for unit in line.units)])
    replies = (each for node in (*line.main, *line.inner) for each in node.step.output or ())
    return [
        *found,
        *(result for each in inner.values() for result in _longest(each)),
        *(result for each in replies for result in each.results),
    ]


def _longest(inputs: Sequence[list[SpanMessage]]) -> list[MessageResult]:
    """Returns the results after the last message of a user, of the input that has most of them."""
    results = [
        [result for each in messages[_last_user(messages) + 1 :] if each.results for result in each.results]
        for messages in inputs
    ]
    return max(results, key=len, default=[])


def transfers(line: TurnLine, calls: Sequence[TurnCall]) -> list[str]:
    """Returns the agents that took over: by hand-off spans, else by calls that hand over."""
    spans = [*line.handoffs, *(tool for tool in line.tools if tool.step.target)]
    found = [node.step.target for node in sorted(spans, key=lambda node: node.order) if node.step.target]
    return found or [name for each in calls if (name := _target(each.call))]


def _target(call: ToolCall) -> str | None:
    if call.name == "transfer_to_agent":
        names = ((call.args or {}).get(key) for key in _TARGETS)
        return next((name for name in names if isinstance(name, str)), None)
    is_handing = call.name is not None and call.name.startswith(TRANSFER) and not call.args
    return call.name[len(TRANSFER) :] if call.name and is_handing else None
