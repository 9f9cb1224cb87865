"""Turns of a conversation, with their words, calls, times and tokens."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Literal

from msgspec.structs import replace

from turnwise.schemas.conversation import RAW, TOKEN_COUNTS, Conversation, TimedSpan, Turn, Usage
from turnwise.schemas.jsonio import JsonValue, grouped
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.formats import identity
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.endings import End, error_end, finished_end, length
from turnwise.transforms.formats.fields import AGENT_ERROR, OPEN_CALL, UNREAD, Unread, check_one_user, gaps
from turnwise.transforms.formats.messages import parts
from turnwise.transforms.formats.messages.kinds import AGENT, USER
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.messages.spellings import forget_histories
from turnwise.transforms.formats.traces import tree
from turnwise.transforms.formats.traces.calls import (
    TurnCall,
    after_user,
    asks,
    declared,
    join_events,
    lacks_calls,
    mark_doubles,
    results_without_call,
    transfers,
    turn_calls,
)
from turnwise.transforms.formats.traces.dialect import ENVIRONMENTS, metadata_of, text_at, user_of
from turnwise.transforms.formats.traces.span import CUT, RUNNING, TraceSpan, is_cut

STRANGER = "UnreadUserText"
_SHOWN, _MOST_SHOWN = 80, 3
_ADK_EVENTS, _MS = "adk_events", 1e6


def _line_turn(line: tree.TurnLine, index: int) -> Turn:
    calls = turn_calls(line)
    texts, speakers, answer = _agent_words(line)
    models = line.models
    steps = sorted([*models, *line.tools], key=lambda node: node.order)
    responses = [response for call in calls if (response := call.response()) is not None]
    responses += results_without_call(line, calls)
    turn = Turn(index, line.user, answer, agent_messages=texts, speakers=speakers, tool_responses=responses)
    turn.tool_calls, turn.transfers = [call.call for call in calls], transfers(line, calls)
    for span, step in ((node.span, node.step) for node in steps if 0 < node.span.start <= node.span.end):
        seconds, times = (span.end - span.start) / 1e9, (_rfc3339_of(span.start), _rfc3339_of(span.end))
        kind: Literal["TOOL", "LLM"] = "TOOL" if step.kind == "tool" else "LLM"
        turn.spans.append(TimedSpan(kind, step.name, None, *times, seconds=min(seconds, 3e11)))
    turn.model_ms, turn.tool_ms = _total_ms(models), _total_ms(line.tools)
    turn.inference_calls = len(models) or None
    reports = [replace(n.step.usage, model=n.step.name) for n in models if n.step.usage is not None]
    if reports and not _unreported(models):
        totals = [name for name in TOKEN_COUNTS[:2] if any(getattr(r, name) is None for r in reports)]
        turn.usage = replace(reduce(Usage.plus, reports), **dict.fromkeys(totals))
    names = (f"{node.span.trace}/{node.span.id}" for node in (*line.tops[-1:], *line.main[-1:]))
    turn.span = next(names, None)
    # Its traces ran from the first start to the last end, without waits, if all spans state their end.
    is_whole = sum(len(unit.main) for unit in line.units) == len(line.main)
    tops = [top for top in line.tops if top.span.start] if is_whole else []
    timed = [node.span for node in tops or steps]
    starts = [span.start for span in timed if span.start]
    turn.timestamp = min(starts) / 1e9 if starts else None
    traces: dict[str, tuple[int, int]] = {}
    for span in timed:
        first, last = traces.get(span.trace, (span.start, span.end))
        traces[span.trace] = min(first, span.start) or max(first, span.start), max(last, span.end)
    ranges = sorted(pair for pair in traces.values() if pair[0])
    if all(span.end for span in timed) and all(first <= last for first, last in ranges):
        total = until = 0
        for first, last in ranges:
            total += max(0, last - max(first, until))
            until = max(until, last)
        turn.latency_ms = length(total / _MS) if total else None
    _losses(line, calls, turn).add_to(turn)
    _findings(line, calls).add_to(turn)
    return turn


def _unreported(models: Sequence[tree.SpanNode]) -> int:
    return sum(node.step.usage is None and not node.step.error for node in models)


def _findings(line: tree.TurnLine, calls: Sequence[TurnCall]) -> Unread:
    """Returns what the trace does not hold: content that was not captured, parts that are not read."""
    unread = Unread()
    is_heard = any(node.step.output for node in line.main) or any(unit.answer for unit in line.units)
    if not (is_heard or _is_output_cut(line)):
        if line.failure is not None:
            unread.add(AGENT_ERROR, f"the agent failed and said nothing: {line.failure[:_SHOWN]}")
        else:
            message = "the trace holds no words of the agent that can be read; texts cannot be scored"
            unread.add(parts.CONTENT_OFF, message, words=True)
    elif line.asked_holds(parts.HIDDEN_TEXT):
        unread.add(parts.CONTENT_OFF, "the trace does not record what the user said")
    elif line.user is None:
        unread.add(MISSING_HISTORY, NO_REQUEST)
    elif any(top.step.args and line.user not in top.step.args for top in line.tops):
        message = "the agent was given several texts, its model another one: what the user said is unknown"
        unread.add(MISSING_HISTORY, message)
    models = line.models
    if (lacking := _unreported(models)) and any(node.step.usage is not None for node in models):
        message = f"{lacking} of {len(models)} model calls report no tokens, so that their sum is unknown"
        unread.add("UsageNotRecorded", message)
    open_ = [tool for tool in line.tools if _ADK_EVENTS in tool.step.dialects and tool.step.event == "start"
             and not (tool.step.has_result or tool.step.error or tool.span.end)]  # fmt: skip
    if open_ and line.failure is None and not line.has_answer:
        names = ", ".join(tool.step.name or "?" for tool in open_[:_MOST_SHOWN])
        message = f"calls that were started, and no record says that they ended: {names}"
        unread.add(OPEN_CALL, message, calls=True)
    is_any_seen = any((models, line.tools, line.handoffs, calls)) or any(top.step.finish for top in line.tops)
    if any(call.tool is not None and call.call.args is None for call in calls):
        unread.add(parts.CONTENT_OFF, "the trace records no arguments or results of calls", calls=True)
    elif lacks_calls(line, calls):
        # A text beside such a call may be the answer, if the model's service ran the tool.
        is_last = bool(line.main) and asks(line.main[-1]) and parts.is_spoken(line.main[-1].step.output or ())
        message = "the trace records that calls were asked for, and not which"
        unread.add(parts.CONTENT_OFF, message, calls=True, words=is_last)
    elif not is_any_seen:
        message = "the trace records no call of a model or a tool; what the agent called is unknown"
        unread.add(parts.CONTENT_OFF, message, calls=True)
    if others := _strangers(line):
        texts = list(dict.fromkeys(_asked_text(node) for node in others))
        shown = ", ".join(repr(text[:_SHOWN]) for text in texts[:_MOST_SHOWN])
        message = f"model calls were given what no message of the turn says: {shown}"
        unread.add(STRANGER, message, words=_answering(line) in others and not _stated_answer(line)[1])
    if _is_contested(line) and not _stated_answer(line)[1]:
        message = "models answered apart from each other; which answer the user got is unknown"
        unread.add("SeveralAnswers", message, words=True)
    _add_unread(line, unread)
    return unread


def _add_unread(line: tree.TurnLine, unread: Unread) -> None:
    """Adds what is not read of the messages: of the user's, of replies, and of those between them."""
    # Where no message is a user's, all are read, because one of an unknown role may be. What agents say that
    # a tool called is nothing that the user was told.
    tops = [top for top in line.tops if top.step.kind == "agent"]
    nodes = [*line.main, *([] if line.main else tops), *line.inner]
    seen: set[tuple[object, ...]] = set()
    if line.asked is not None and not line.asked.is_read:
        others = [part for part in line.asked.parts if part not in (CUT, parts.HIDDEN_TEXT)]
        replace(line.asked, parts=others).add_unread(unread)
    for index, node in enumerate(nodes):
        given, output = node.step.input or (), node.step.output or ()
        is_told = index < len(nodes) - len(line.inner)
        for message in (*(after_user(given) or ([] if parts.users_of(given) else given)), *output):
            held = message.role, message.stated_role, *message.parts, *message.keys
            if not message.is_read and not message.is_users and (is_told, held) not in seen:
                seen.add((is_told, held))
                message.add_unread(unread, None if is_told else False)


STEPS = ("model", "tool", "agent", "chain", "handoff")


def join_spans(conversation_id: str, spans: Sequence[TraceSpan]) -> Conversation:
    """Joins spans of a conversation, in any order; raises ValueError if none is a step, or for two users."""
    try:
        nodes = tree.span_tree(spans)
        mark_doubles(nodes)
        join_events(nodes)
    finally:
        forget_histories()
    lines = tree.turn_lines(tree.work_units(nodes))
    if not lines:
        raise ValueError(f"{len(nodes)} spans, and none is a call of a model or a tool, or an agent")
    steps = [node for node in nodes if node.step.kind in STEPS]
    # A session of google-adk is of one user: another one's may have the same name.
    rows = (node.span for node in steps if _ADK_EVENTS in node.step.dialects)
    named = (span for span in rows if text_at(span.attributes, "session.id") == conversation_id)
    check_one_user(map(user_of, named), conversation_id)
    turns = [_line_turn(line, index) for index, line in enumerate(lines)]
    end = _end(lines)
    resources = [node.span.resource for node in steps]
    attributes = [node.span.attributes for node in nodes if node.span.attributes]
    labelled: list[JsonValue] = [{"attributes": held, "metadata": metadata_of(held)} for held in attributes]
    labelled += [{"resource": resource} for resource in resources if resource]
    stated = identity.stated_identity(identity.OF_SPANS, labelled)
    versions = _versions(sorted(nodes, key=lambda node: node.span.start))
    tags = [tag for node in nodes for tag in node.step.tags]
    tags += filter(None, (text_at(resource, *ENVIRONMENTS) for resource in resources))
    source = f"spans ({', '.join(sorted({name for node in nodes for name in node.step.dialects}))})"
    conversation = Conversation(conversation_id, source, turns=turns, meta=_meta(nodes))
    conversation.tools = declared(steps)
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = stated
    conversation.user_id = next(filter(None, (user_of(node.span) for node in nodes)), None)
    starts = (node.span.start for node in nodes if node.span.start)
    conversation.start_time = _rfc3339_of(min(starts, default=0))
    conversation.tags = list(dict.fromkeys(tags))
    conversation.ended, conversation.ended_detail = end.ended, end.detail
    _add_orphans(nodes, turns)
    if versions:
        conversation.app_version = versions[-1]
        identity.add_several_versions(conversation, identity.Identity(versions[-1]), versions)
    listed = {name for node in nodes for name in node.span.listed}
    missing = listed - {node.span.id for node in nodes} - {node.span.page for node in nodes}
    if missing:
        message = f"{len(missing)} of {len(listed)} spans or pages that the export names are not there"
        gaps("MissingSpan", [f"{message}; they may hold calls and words"]).add_to_all(turns)
    roots = (node.span for node in nodes if node.parent is None)
    if (users := len(set(filter(None, map(user_of, roots))))) > 1:
        message = f"traces of {users} users have this one session: name sessions apart"
        gaps("SeveralUsers", [message], calls=False, words=False).add_to_all(turns)
    untimed = any(not (node.span.start or node.span.is_log) for node in steps)
    if untimed and sum(max(len(line.models), 1) for line in lines) > 1:
        message = "spans state no start, so that the order of what was said and done is unknown"
        gaps("UnknownOrder", [message]).add_to_all(turns)
    # Such as events of unknown types, counted by type.
    counts = Counter(node.step.unread for node in nodes if node.step.unread)
    said_unread = [f"{count} {what} are not read" for what, count in counts.most_common()]
    gaps(UNREAD, said_unread, calls=False, words=False).add_to_all(turns)
    check_calls(turns)
    return conversation


def _versions(nodes: Sequence[tree.SpanNode]) -> list[str]:
    """Returns the app versions that nodes, given by time, state for turnwise, or that their traces state."""
    keyed = [str(text) for node in nodes if (text := node.span.attributes.get(identity.KEYS[0]))]
    traces = grouped((node.span.trace, node) for node in nodes)
    # Of one trace the first counts: agents within it may have versions of their own.
    wholes: list[JsonValue] = []
    for those in () if keyed or len(traces) < 2 else traces.values():
        held, resource = dict[str, JsonValue](), dict[str, JsonValue]()
        for node in reversed(those):
            held |= node.span.attributes
            resource |= node.span.resource if node.step.kind in STEPS else {}
        wholes.append({"attributes": held, "metadata": metadata_of(held), "resource": resource})
    # Of several services that which the session begins with counts.
    services = [whole["resource"].get("service.name") for whole in wholes]
    wholes.sort(key=lambda whole: whole["resource"].get("service.name") in (None, services[0]))
    return keyed or identity.stated_texts(identity.OF_SPANS, wholes)[0]


def _meta(nodes: Sequence[tree.SpanNode]) -> dict[str, object]:
    passed = Counter(node.span.scope or node.span.name for node in nodes if node.step.kind in (None, "other"))
    counts = {
        "steps": sum(node.step.kind in STEPS and not node.is_double for node in nodes),
        "doubles": sum(node.is_double for node in nodes),
        "no_steps": dict(passed.most_common(20)),
    }
    return {"trace_ids": list(dict.fromkeys(node.span.trace for node in nodes)), "spans": counts}


def _end(lines: Sequence[tree.TurnLine]) -> End:
    """Returns the end: an error of the last agent or model, or else the last finish reason."""
    # A text does not contradict an error: what was said before it may not have reached the user.
    for number, line in enumerate(lines, 1):
        steps = (node.step for node in (*line.tops, *line.main))
        is_unanswered_adk = not line.has_answer and any(_ADK_EVENTS in step.dialects for step in steps)
        # Rows of google-adk tell of whole invocations: the user may have asked again after one that crashed.
        if number < len(lines) and is_unanswered_adk and line.failure is not None:
            return error_end(f"turn {number}: {line.failure}")
    if line.failure is not None:
        return error_end(line.failure)
    if is_unanswered_adk and any(node.step.output for node in line.main):
        # Rows of invocations may be left out of the table; a whole invocation may wait for a person.
        keys = [key for top in line.tops for key in top.span.attributes]
        if not any(key.startswith("adk_events.INVOCATION_COMPLETED") for key in keys):
            return End(None, "no answer follows the agent's last call")
    output = (line.main[-1].step.output or []) if line.main else []
    stated = [node.step.finish for node in line.main[-1:]] + [parts.finish_of(output)]
    for top in line.tops[-1:]:
        # Its messages are those of the whole turn, of which only the last one says how the turn ended.
        output = output or top.step.output or []
        stated += [top.step.finish, *(message.finish for message in (top.step.output or [])[-1:])]
    return finished_end(next(filter(None, stated), None), bool(output and output[-1].calls))


def _agent_words(line: tree.TurnLine) -> tuple[list[str], list[str], str | None]:
    """Returns what the agent said, who said it, and the answer: the main line's last words without calls."""
    texts: list[str] = []
    speakers: list[str] = []
    answer: str | None = None
    if line.main:
        before = after_user(line.main[0].step.input or ())
        texts = [text for message in before if message.role == AGENT for text in message.texts]
        speakers = [tree.agent_of(line.main[0]) or ""] * len(texts)
    for node in line.main:
        output = node.step.output or []
        words, calls = _spoken(output)
        texts += words
        speakers += [tree.agent_of(node) or ""] * len(words)
        if words and not (calls or asks(node)):
            # What a reply says after the last call that the model's service ran, if anything.
            start = max((call.after for call in output[-1].calls if call.is_hosted), default=0)
            answer = "\n".join((output[-1].texts[start:] if start else ()) or words)
    final, is_final = _stated_answer(line)
    if final and is_final and (answer is None or _is_said_otherwise(answer, final, line)):
        answer = "\n".join(final)
        texts += [text for text in final if text not in texts]
        top = line.tops[-1:]
        speakers += [(tree.agent_of(top[0]) if top else None) or ""] * (len(texts) - len(speakers))
    return texts, speakers if any(speakers) else [], answer


def _is_said_otherwise(answer: str, final: Sequence[str], line: tree.TurnLine) -> bool:
    """Returns whether the agent's answer counts, not a model's text: one is the end of the other."""
    # A model that was given another text than the user's, such as a prompt with the user's words in it, may
    # answer in a form that only the agent reads. Of several that answered, the agent says which counts.
    whole = "\n".join(final).strip()
    if answer.strip() == whole:
        return False
    if whole.endswith(answer.strip()) or answer.strip().endswith(whole):
        return True
    given = {entry.text for unit in line.units for entry in unit.given if entry.is_users}
    node = _answering(line)
    is_prompt = node is not None and bool(given) and _asked_text(node) not in {"", line.user, *given}
    is_earlier = any(whole == "\n".join(_spoken(entry.step.output or ())[0]).strip() for entry in line.main)
    return is_prompt or is_earlier or node in _strangers(line) or _is_contested(line)


def _spoken(messages: Sequence[parts.SpanMessage]) -> tuple[list[str], bool]:
    texts = [text for message in messages if message.role == AGENT for text in message.texts]
    has_calls = any(not call.is_hosted for message in messages[-1:] for call in message.calls)
    has_calls = has_calls or any(map(parts.is_repr_call, texts))
    return [text for text in texts if not parts.is_repr_call(text)], has_calls


def _stated_answer(line: tree.TurnLine) -> tuple[list[str], bool]:
    """Returns the words of the agent's own output after the user's last message, and whether it is final."""
    messages = next((unit.answer for unit in reversed(line.units) if unit.answer), [])
    last = max((i for i, item in enumerate(messages) if item.role == USER), default=-1)
    replies = [message for message in messages[last + 1 :] if message.role == AGENT]
    is_final = bool(replies) and not replies[-1].calls
    if line.main:
        return replies[-1].texts if replies else [], is_final
    return [text for message in replies for text in message.texts][-1:], is_final and bool(replies[-1].texts)


def _strangers(line: tree.TurnLine) -> list[tree.SpanNode]:
    """Returns the model calls that were asked last what the user's message does not hold."""
    known = {"", line.user, *line.users}
    return [node for node in line.main[1:] if _asked_text(node) not in known and not tree.tries_again(node)]


def _asked_text(node: tree.SpanNode) -> str:
    """Returns the message of a user that a model's input ends in; empty: it ends in none."""
    messages = parts.spoken(node.step.input or ())
    return messages[-1].text if messages and messages[-1].is_users else ""


def _answering(line: tree.TurnLine) -> tree.SpanNode | None:
    return next((node for node in reversed(line.main) if any(_spoken(node.step.output or ())[0])), None)


def _is_contested(line: tree.TurnLine) -> bool:
    """Returns whether several models answered at one time or apart, so that any of them may be the answer."""
    last = _answering(line)
    if last is None:
        return False
    for node in line.main:
        texts, has_calls = _spoken(node.step.output or ())
        if node is last or not texts or has_calls:
            continue
        # The calls overlap, or the agents that made them if each has one of its own.
        made = [next((n for n in call.above() if n.step.kind == "agent"), call) for call in (node, last)]
        is_one = made[0] is made[1] or made[0] in made[1].above() or made[1] in made[0].above()
        a, b = (node.span, last.span) if is_one else (made[0].span, made[1].span)
        if 0 < a.start < b.end and 0 < b.start < a.end:
            return True
        # Or both were asked the same, and the later not told the reply (a short one may be there by chance).
        words = {text.strip() for text in texts}
        given = [text.strip() for message in last.step.input or () for text in message.texts]
        is_told = any(text == held or (len(text) > 20 and text in held) for text in words for held in given)
        if _asked_text(node) == _asked_text(last) != "" and not is_told:
            return True
    return False


def _rfc3339_of(nanos: int) -> str | None:
    try:
        return nanos_timestamp(nanos) if nanos else None
    except ValueError:
        return None


def _total_ms(nodes: Sequence[tree.SpanNode]) -> float | None:
    """Returns the sum of lengths; None: a span does not state its own, or all state 0."""
    lengths = [span.end - span.start for span in (node.span for node in nodes) if 0 < span.start <= span.end]
    return length(sum(lengths) / _MS) if any(lengths) and len(lengths) == len(nodes) else None


def _losses(line: tree.TurnLine, calls: Sequence[TurnCall], turn: Turn) -> Unread:
    """Returns what limits of attributes took away, and runs that had not ended when they were exported."""
    unread = Unread()
    answering = [*line.main, *line.tops]
    nodes = [*answering, *line.inner, *line.tools]
    if line.asked_holds(CUT) or any(node.step.input == [] or node.step.output == [] for node in answering):
        is_lost = _is_output_cut(line)
        message = "an attribute of a span that holds messages in JSON is cut off, and is not read"
        unread.add(UNREAD, message, calls=is_lost, words=is_lost or turn.user is None)
    texts = (call.call.args[RAW] for call in calls if call.call.args and call.call.args.keys() == {RAW})
    if any(isinstance(text, str) and text.lstrip().startswith(("{", "[")) for text in texts):
        unread.add(UNREAD, "the arguments of a call are JSON that is cut off", calls=True)
    if any(isinstance(result.response, str) and is_cut(result.response) for result in turn.tool_responses):
        unread.add(UNREAD, "the result of a call is JSON that is cut off", calls=True)
    if count := sum(node.span.dropped for node in nodes):
        is_said = any(node.span.dropped for node in answering)
        message = (
            f"{count} attributes or events of spans were dropped or cut by a limit, or are in no known form;"
            " what they held is unknown"
        )
        unread.add(UNREAD, message, calls=True, words=is_said)
    open_spans = [node.span for node in nodes if RUNNING in node.span.attributes and not node.span.end]
    if open_spans:
        message = f"the run {open_spans[0].name[:60]!r} had not ended when it was exported"
        unread.add("UnfinishedRun", message, calls=True, words=True)
    return unread


def _is_output_cut(line: tree.TurnLine) -> bool:
    """Returns whether what a model said is cut off, or what an agent said of which no model call is there."""
    is_models = any(node.step.output is not None for node in line.main)
    return any(node.step.output == [] for node in (line.main if is_models else line.tops))


def _add_orphans(nodes: Sequence[tree.SpanNode], turns: Sequence[Turn]) -> None:
    """Adds a finding for spans whose parents are missing, unless one remote caller is all that is missing."""
    # OTLP's flags, and LangSmith, say where a parent is no remote caller.
    orphans = [node for node in nodes if node.is_orphan]
    callers = grouped((node.span.trace, node.span.parent) for node in orphans)
    roots = {node.span.trace for node in nodes if node.parent is None and not node.is_orphan}
    local = {node.span.trace for node in orphans if node.span.is_local}
    lost = [trace for trace, parents in callers.items() if len(set(parents)) > 1 or trace in roots | local]
    if lost:
        count = sum(node.span.trace in lost for node in orphans)
        lack = f"{count} of {len(nodes)} spans name a parent that is not there"
        message = f"{lack}; they are read as steps of the root, or as roots"
        gaps("MissingParent", [message], calls=False, words=False).add_to_all(turns)
