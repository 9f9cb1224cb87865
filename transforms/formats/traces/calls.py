"""Calls of a turn with their results: what models asked for and what tools did, each counted once."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import Struct

from turnwise.schemas.conversation import RAW, ToolCall, ToolDeclaration, ToolResponse, decoded_arguments
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped
from turnwise.transforms.formats.endings import declared_tools
from turnwise.transforms.formats.messages import parts
from turnwise.transforms.formats.messages.dialogue import TRANSFER
from turnwise.transforms.formats.messages.kinds import AGENT, as_object
from turnwise.transforms.formats.traces.dialect import text_at
from turnwise.transforms.formats.traces.span import loaded, numbered
from turnwise.transforms.formats.traces.tree import SpanNode, TurnLine, agent_of, enclosing_tool

_TOOL_LISTS = ("gen_ai.tool.definitions", "ai.prompt.tools", "langfuse.observation.tool_definitions",
               "gcp.vertex.agent.llm_request")  # fmt: skip


class TurnCall(Struct, eq=False):
    """A call of a turn.

    Attributes:
        time: When it was asked for or ran, nanoseconds since the epoch.
        tool: The span of its tool; None: there is none.
        given: The result that a later model call was given; None: none was.
        is_asked: Whether a model asked for it.
        asker: The model call, or the agent, that states it; None: only its tool's span does.
    """

    call: ToolCall
    time: int
    tool: SpanNode | None = None
    given: parts.MessageResult | None = None
    is_asked: bool = True
    asker: SpanNode | None = None

    def response(self) -> ToolResponse | None:
        """Returns the result: of the tool's span, or else what the model was given, or else the error."""
        step, given = self.tool.step if self.tool is not None else None, self.given
        error = (step.error if step is not None else None) or (given.error if given else None)
        is_tools = step is not None and step.has_result
        if not (is_tools or given or error):
            return None
        result = step.result if step is not None and is_tools else given.response if given else None
        return ToolResponse(self.call.name, self.call.id, result, error)


def turn_calls(line: TurnLine) -> list[TurnCall]:
    """Returns the calls of a turn in time order."""
    asked = [
        (call, node.span.end or node.span.start, node)
        for node in line.models
        for message in node.step.output or ()
        for call in (*message.calls, *parts.repr_calls(message.texts))
    ]
    if line.main:
        # Calls in the first input after the user's message have no spans of their own.
        first = line.main[0]
        before = after_user(first.step.input or ())
        asked += [(call, first.span.start, first) for message in before for call in message.calls]
    else:
        # Agents that recorded no model call may state calls in their answers.
        asked += [
            (call, unit.top.span.start, unit.top)
            for unit in line.units
            if unit.top is not None
            for message in unit.answer[_last_user(unit.answer) + 1 :]
            for call in message.calls
        ]
    for node, later in _asked_later(line):
        asked += [(call, node.span.end or node.span.start, node) for call in later]
    calls = [
        TurnCall(ToolCall(call.name, decoded_arguments(call.args), call.id), time, asker=node)
        for call, time, node in asked
    ]
    for tool in sorted(line.tools, key=lambda node: node.order):
        _add_tool(tool, calls)
    for turn_call in () if line.main else calls:
        turn_call.time = turn_call.tool.span.start if turn_call.tool is not None else turn_call.time
    calls.sort(key=lambda turn_call: turn_call.time)
    _add_given(line, calls)
    for turn_call in calls:
        made_by = turn_call.asker or turn_call.tool
        if made_by is not None:
            outer = enclosing_tool(made_by, line.tools)
            turn_call.call.agent = agent_of(made_by)
            turn_call.call.inside = None if outer is None else outer.step.name
    return calls


def asks(node: SpanNode) -> bool:
    """Returns whether a model call ended by asking for calls that its own output does not hold."""
    output = node.step.output or []
    word = (node.step.finish or parts.finish_of(output) or "").rpartition(".")[2].lower().replace("-", "_")
    return word in ("tool_calls", "tool_call", "tool_use", "function_call", "function_calls") and not any(
        message.calls or any(map(parts.is_repr_call, message.texts)) for message in output
    )


def _asked_later(line: TurnLine) -> list[tuple[SpanNode, list[parts.MessageCall]]]:
    """Returns the model calls that asked for what they do not state, with the calls in the next input."""
    asked: list[tuple[SpanNode, list[parts.MessageCall]]] = []
    for index, node in enumerate(line.main):
        if asks(node):
            following = line.main[index + 1].step.input if index + 1 < len(line.main) else line.after
            added = after_user(following or ())[len(after_user(node.step.input or ())) :]
            calls = [call for message in added if message.role == AGENT for call in message.calls]
            asked.append((node, calls))
    return asked


def lacks_calls(line: TurnLine, calls: Sequence[TurnCall]) -> bool:
    """Returns whether models asked for calls that neither a later input nor a tool's span names."""
    lacking = [node for node, asked in _asked_later(line) if not asked] + list(filter(asks, line.inner))
    first = min((node.span.start for node in lacking), default=0)
    return len(lacking) > sum(not call.is_asked and call.time >= first for call in calls)


def after_user(messages: Sequence[parts.SpanMessage]) -> Sequence[parts.SpanMessage]:
    """Returns the messages after the last one that a user wrote; none if no user wrote one."""
    last = _last_user(messages)
    return messages[last + 1 :] if last >= 0 else ()


def _last_user(messages: Sequence[parts.SpanMessage]) -> int:
    """Returns the place of the last message that a user wrote; -1: there is none."""
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].is_users), -1)


def _add_tool(tool: SpanNode, calls: list[TurnCall]) -> None:
    """Joins a tool's span to the call that asked for it: by id, else by name and order; or adds a call."""
    step = tool.step
    free = [turn_call for turn_call in calls if turn_call.tool is None]
    match = next((call for call in free if step.call_id and call.call.id == step.call_id), None)
    if match is not None and step.name and match.call.name not in (None, step.name):
        match = None
    if match is None:
        # A hand-off is asked for by a call of another name.
        target = None if step.target is None else TRANSFER + step.target.lower().replace(" ", "_")
        names = {step.name, target} - {None} if step.name else ()
        named = [turn_call for turn_call in free if turn_call.call.name in names]
        args = decoded_arguments(step.args)
        match = max(named, key=lambda turn_call: _likeness(turn_call.call.args, args), default=None)
        # What was asked for later is no reason of an attempt, but a model's span may enclose its tools.
        if match is None or match.time > tool.span.end:
            # It may be a further attempt, after one that failed or was interrupted.
            tried = [(call, call.tool.step) for call in calls if call.tool is not None]
            failed = [call for call, attempt in tried if attempt.error or not attempt.has_result]
            if step.call_id:
                again = (call for call in failed if call.call.id == step.call_id)
            else:
                alike = (call for call in failed if call.is_asked and call.call.name == step.name)
                again = (call for call in alike if call.call.args == args)
            match = next(again, match)
    if match is None and step.target:
        return
    if match is None:
        match = TurnCall(ToolCall(step.name, None, step.call_id), tool.span.start, is_asked=False)
        calls.append(match)
    match.tool = tool
    # The span of a model may enclose the tools that it asked for.
    match.time = min(match.time, tool.span.start) if tool.span.start else match.time
    match.call.id = match.call.id or step.call_id
    match.call.name = match.call.name or step.name
    if match.call.args is None or RAW in match.call.args:
        stated = decoded_arguments(step.args)
        match.call.args = stated if stated is not None else match.call.args


def _likeness(asked: JsonObject | None, ran: JsonObject | None) -> int:
    if not asked or not ran:
        return 0
    return 2 if asked == ran else int(all(key in ran and ran[key] == asked[key] for key in asked))


def _add_given(line: TurnLine, calls: Sequence[TurnCall]) -> None:
    """Adds the results that later model calls were given, by id, and else by name and order."""
    # They stand after the user's message in the longest input, in agents' answers, and in replies.
    inputs = [node.step.input for node in line.main if node.step.input]
    results = _longest([*inputs, *(unit.answer for unit in line.units)])
    # Agents that a tool called have inputs of their own.
    inner = grouped((id(node.parent), node.step.input or []) for node in line.inner)
    results += [result for given in inner.values() for result in _longest(given)]
    replies = (message for node in line.models for message in node.step.output or ())
    results += [result for message in replies for result in message.results]
    open_ = [turn_call for turn_call in calls if turn_call.tool is None or not turn_call.tool.step.has_result]
    for result in (*results, *(result for message in line.after for result in message.results)):
        same = (call for call in calls if result.id and call.call.id == result.id and not call.given)
        if (call := next(same, None)) is not None:
            call.given = result
    taken, known = {id(call.given) for call in calls}, {call.call.id for call in calls}
    for result in results:
        if id(result) not in taken and not (result.id and result.id in known):
            free = (call for call in open_ if not call.given and result.name in (None, call.call.name))
            if (call := next(free, None)) is not None:
                call.given = result
    # What an agent said last is the result of the tool that stands for it, where the log holds no other.
    by_tool = {id(call.tool): call for call in open_ if call.tool is not None and not call.given}
    for node in sorted(line.inner, key=attrgetter("order"), reverse=True):
        spoken = [message for message in node.step.output or () if message.texts and not message.calls]
        outer = enclosing_tool(node, line.tools) if spoken and by_tool else None
        above = list(node.above()) if outer is not None else []
        below = above[: above.index(outer)] if outer in above else above
        is_agents = any(upper.step.kind == "agent" for upper in below)
        if is_agents and (call := by_tool.pop(id(outer), None)) is not None:
            call.given = parts.MessageResult(spoken[-1].text)


def results_without_call(line: TurnLine, calls: Sequence[TurnCall]) -> list[ToolResponse]:
    """Returns the results that models were given after the user's message, and whose ids no call has."""
    known, given = {call.call.id for call in calls}, {id(call.given) for call in calls}
    inputs = [node.step.input for node in line.main if node.step.input]
    others = {result.id: result for result in _longest(inputs) if result.id and result.id not in known}
    left = (result for result in others.values() if id(result) not in given)
    return [ToolResponse(result.name, result.id, result.response, result.error) for result in left]


def _longest(inputs: Sequence[list[parts.SpanMessage]]) -> list[parts.MessageResult]:
    """Returns the results after the last message of a user, of the input that has most of them."""
    rests = (messages[_last_user(messages) + 1 :] for messages in inputs)
    results = ([result for message in rest for result in message.results] for rest in rests)
    return max(results, key=len, default=[])


def transfers(line: TurnLine, calls: Sequence[TurnCall]) -> list[str]:
    """Returns the agents that took over: by hand-off spans, else by calls that hand over."""
    spans = sorted([*line.handoffs, *line.tools], key=lambda node: node.order)
    targets = [node.step.target for node in spans if node.step.target]
    for call in () if targets else calls:
        name, args = call.call.name or "", call.call.args or {}
        if name == "transfer_to_agent":
            names = (args.get(key) for key in ("agent_name", "agentName", "agent"))
            targets += [target for target in names if isinstance(target, str)][:1]
        elif name.startswith(TRANSFER) and not args:
            targets.append(name[len(TRANSFER) :])
    return list(filter(None, targets))


def mark_doubles(nodes: Sequence[SpanNode]) -> None:
    """Marks the spans of a tree, in order, that record a call once more, and reads them into the first."""
    # They are a model call below or beside one, a tool call below the same tool, and repeated reply ids.
    known = [node for node in nodes if node.step.kind is not None]
    models = [node for node in known if node.step.kind == "model"]
    below: dict[int, list[SpanNode]] = {}
    for node in models:
        above = node.known_above()
        if above is not None and above.step.kind == "model" and node.step.output:
            below.setdefault(id(above), []).append(node)
    for inner in below.values():
        above = inner[0].known_above()
        # A model's span that holds several calls with other replies is a step that holds them.
        if above is not None and len(inner) > 1 and not _signs(inner[0].step.output, inner[-1].step.output):
            above.step.kind, above.step.output = "chain", None
    replies: dict[tuple[str, str], SpanNode] = {}
    for node in sorted(known, key=attrgetter("depth")):
        step, same = node.step, None
        above = node.known_above() if step.kind in ("model", "tool") else None
        if above is not None and above.step.kind == step.kind:
            # A tool may call itself.
            is_equal = above.step.args is None or step.args is None or above.step.args == step.args
            is_one = step.kind == "model" or (above.step.name == step.name and is_equal)
            same = above if is_one else None
        elif step.kind == "model" and step.response_id:
            first = replies.setdefault((node.span.trace, step.response_id), node)
            # Gateways and test doubles give the same id to many replies.
            is_one_time = first.span.is_log or node.span.is_log or _overlap(first, node)
            is_one = is_one_time or _signs(first.step.input, step.input)
            same = first if is_one and _signs(first.step.output, step.output) else None
        if same is not None and same is not node:
            _join_doubles(node, same)
    # Another writer, or a later record of the same writer, may state a model call beside it.
    beside: dict[tuple[str, int], list[tuple[SpanNode, set[str]]]] = {}
    for node in (node for node in models if not node.is_double and node.step.kind == "model"):
        near = beside.setdefault((node.span.trace, id(node.parent)), [])
        for first, scopes in near[-64:] if node.parent is not None else ():
            if node.span.scope not in scopes and _is_same_call(first, node):
                scopes.add(node.span.scope)
                _join_doubles(node, first)
                break
        else:
            near.append((node, set()))


def _join_doubles(node: SpanNode, same: SpanNode) -> None:
    """Reads a double into the span whose call it records; the error of a tool too, if another wrote it."""
    node.is_double = True
    # A span that says nothing is passed by: all of these share one step, which nobody may fill.
    while same.is_double and (above := same.known_above()) is not None:
        same = above
    is_others = bool(node.span.scope) and node.span.scope != same.span.scope
    if node.step.kind == "tool" and is_others and not same.step.error:
        same.step.error = node.step.error
    if node.step.kind == "model" and node.step.output and asks(same):
        same.step.output = node.step.output
    same.step.fill(node.step)


def _is_same_call(other_node: SpanNode, other: SpanNode) -> bool:
    # Of two writers they are if they state nothing different: the same messages or, where one states none,
    # the same tokens or an error at one time; of one, if the later is a mere point that adds the reply.
    first, second = other_node.step, other.step
    if first.response_id and second.response_id and first.response_id != second.response_id:
        return False
    is_asked = bool(first.input and second.input)
    if other_node.span.scope == other.span.scope:
        is_point = other.span.start == other.span.end and not first.output and not first.error
        may_be = is_point and is_asked and bool(second.output)
    else:
        names = sorted((first.name or "", second.name or ""), key=len)
        has_usage = bool(first.usage and second.usage)
        is_other = names[0] not in names[1] or (has_usage and first.usage != second.usage)
        # A wrapper of a stream may end before the request that it wraps begins.
        is_whole = is_asked and bool(first.output and second.output)
        is_measured = (has_usage or bool(first.error and second.error)) and _overlap(other_node, other)
        may_be = not is_other and (is_whole or is_measured)
    return may_be and _signs(first.input, second.input) and _signs(first.output, second.output)


def _overlap(other_node: SpanNode, other: SpanNode) -> bool:
    return other_node.span.start < other.span.end and other.span.start < other_node.span.end


def _signs(messages: list[parts.SpanMessage] | None, other: list[parts.SpanMessage] | None) -> bool:
    """Returns whether two lists of messages are equal but for the system's, or one is not stated."""
    if not messages or not other:
        return True
    return [m.sign for m in parts.spoken(messages)] == [m.sign for m in parts.spoken(other)]


def join_events(nodes: Iterable[SpanNode]) -> None:
    """Marks the spans, given in order, that say how a call went on, and fills the span of its start."""
    # Each start is a call. An end belongs to the first start of the same kind and name, in the same step of
    # the agent, that has no end yet, and the call took until it. One without such a start stands for itself.
    # Of a call without an end it is unknown how long it took: the span of its start ends with the whole run.
    starts: dict[tuple[int, str | None, str | None], list[tuple[SpanNode, set[str]]]] = {}
    for node in nodes:
        step, event = node.step, node.step.event
        if event is None:
            continue
        if event != "told" and step.kind == "tool" and node.parent is not None:
            step.name = text_at(node.parent.span.attributes, "tool.name") or step.name
        holder = next((above for above in node.above() if not above.span.name.startswith("agent.")), None)
        begun = starts.setdefault((id(holder), step.kind, step.name), [])
        if event == "start":
            begun.append((node, set()))
        elif call := next((call for call in begun if event not in call[1]), None):
            start, events = call
            events.add(event)
            node.is_double = True
            start.step.fill(step)
            if event == "end" and start.span.start <= node.span.start:
                start.span.end = node.span.start
    for start, events in (call for begun in starts.values() for call in begun):
        if "end" not in events:
            start.span.end = 0


def declared(nodes: Sequence[SpanNode]) -> list[ToolDeclaration]:
    """Returns the tools of a conversation's model calls, each name once; equal declarations are read once."""
    declarations: list[JsonValue] = []
    seen: set[str] = set()
    for attributes in (node.span.attributes for node in nodes if node.step.kind in ("model", "agent")):
        stated = [attributes[key] for key in _TOOL_LISTS if attributes.get(key)]
        for prefix in ("llm.tools.", "llm.request.functions."):
            if f"{prefix}0.name" in attributes or f"{prefix}0.tool.json_schema" in attributes:
                stated.append(numbered(attributes, prefix))
        for listed in stated:
            if str(listed) in seen or len(seen) >= 16:
                continue
            seen.add(str(listed))
            tools = loaded(listed)
            if isinstance(tools, dict):
                tools = as_object(tools.get("config")).get("tools")
            for held in map(loaded, tools if isinstance(tools, list) else ()):
                inner = as_object(held).get("tool")
                if isinstance(inner, dict) and "json_schema" in inner:
                    held = loaded(inner["json_schema"])
                elif isinstance(held, dict) and isinstance(held.get("parameters"), str):
                    held = {**held, "parameters": loaded(held["parameters"])}
                declarations.append(held)
    return declared_tools(declarations)
