"""Turns of a conversation, with their words, calls, times and tokens."""

from collections.abc import Sequence

from turnwise.schemas.arguments import RAW
from turnwise.schemas.conversation import TimedSpan, Turn, Usage
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.formats.messages.base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.spellings import length
from turnwise.transforms.formats.traces.calls import TurnCall, after_user, transfers, turn_calls
from turnwise.transforms.formats.traces.cut import is_cut
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.message import AGENT, SYSTEM, USER, SpanMessage
from turnwise.transforms.formats.traces.message_repr import is_repr_call
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.unread import UNREAD, Unread

STRANGER = "UnreadUserText"
_SHOWN, _MOST_SHOWN = 80, 3
CONTENT_OFF = "ContentNotRecorded"
_OFF = "the trace records no content of messages; texts cannot be scored"
_CUT = "an attribute of a span that holds messages in JSON is cut off, and is not read"
_CUT_ARGS = "the arguments of a call are JSON that is cut off"
_CUT_RESULT = "the result of a call is JSON that is cut off"
_ARGS_OFF = "the trace records no arguments or results of calls"
_FIELDS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
_MS = 1e6
_STREAMED = 5
"""So many texts of one model call are the pieces of a streamed one."""


def line_turn(line: TurnLine, index: int) -> Turn:
    """Returns a turn."""
    calls = turn_calls(line)
    texts, answer = _words(line)
    models = [*line.main, *line.inner]
    responses = [response for each in calls if (response := each.response()) is not None]
    turn = Turn(
        turn_index=index,
        user=line.user,
        agent=answer,
        tool_calls=[each.call for each in calls],
        tool_responses=responses,
        agent_messages=texts,
        transfers=transfers(line, calls),
        spans=[_timed(node) for node in sorted((*models, *line.tools), key=lambda node: node.order)],
        model_ms=_total(models),
        tool_ms=_total(line.tools),
        inference_calls=len(models) or None,
        usage=_usage(models),
    )
    _add_times(turn, line)
    _cut(line, calls, turn).add_to(turn)
    _findings(line, calls).add_to(turn)
    return turn


def _words(line: TurnLine) -> tuple[list[str], str | None]:
    """Returns what the agent said, and its answer: the last words of the main line that call nothing."""
    texts: list[str] = []
    answer: str | None = None
    if line.main:
        texts = [
            text
            for each in after_user(line.main[0].step.input or ())
            if each.role == AGENT
            for text in each.texts
        ]
    for node in line.main:
        said, calls = _said(node.step.output or ())
        texts += said
        answer = "\n".join(said) if said and not calls else answer
    final, is_final = _answer(line)
    if final and is_final and (answer is None or _is_piece(answer, final)):
        answer = "\n".join(final)
        texts += [text for text in final if text not in texts]
    return texts, answer


def _is_piece(answer: str, final: Sequence[str]) -> bool:
    """Returns whether a model's text is only the end of what its agent answered."""
    whole = "\n".join(final)
    return len(whole) > len(answer) and whole.endswith(answer.strip())


def _said(messages: Sequence[SpanMessage]) -> tuple[list[str], bool]:
    texts = [text for each in messages if each.role == AGENT for text in each.texts]
    if len(texts) >= _STREAMED and not any(each.calls for each in messages):
        texts = ["".join(texts)]
    has_calls = any(each.calls for each in messages[-1:]) or any(map(is_repr_call, texts))
    return [text for text in texts if not is_repr_call(text)], has_calls


def _answer(line: TurnLine) -> tuple[list[str], bool]:
    """Returns the words of the agent's own output after the last message of the user in it."""
    messages = next((unit.answer for unit in reversed(line.units) if unit.answer), [])
    last = max((i for i, each in enumerate(messages) if each.role == USER), default=-1)
    own = [each for each in messages[last + 1 :] if each.role == AGENT]
    if line.main:
        return (own[-1].texts, not own[-1].calls) if own else ([], False)
    return [text for each in own for text in each.texts][-1:], bool(
        own and own[-1].texts and not own[-1].calls
    )


def _add_times(turn: Turn, line: TurnLine) -> None:
    is_whole = sum(len(unit.main) for unit in line.units) == len(line.main)
    tops = [unit.top for unit in line.units if unit.top is not None] if is_whole else []
    nodes = [top for top in tops if top.span.start] or [*line.main, *line.inner, *line.tools]
    starts = [node.span.start for node in nodes if node.span.start]
    if starts:
        turn.timestamp = min(starts) / 1e9
        if all(node.span.end for node in nodes):
            turn.latency_ms = _work_ms(nodes)


def _work_ms(nodes: Sequence[SpanNode]) -> float | None:
    """Returns the time in which traces ran, without waits between them; None: no span states a length."""
    traces: dict[str, tuple[int, int]] = {}
    for node in nodes:
        span = node.span
        first, last = traces.get(span.trace, (span.start, span.end))
        traces[span.trace] = min(first, span.start) or max(first, span.start), max(last, span.end)
    total = until = 0
    for first, last in sorted(pair for pair in traces.values() if pair[0]):
        if last < first:
            return None
        total += max(0, last - max(first, until))
        until = max(until, last)
    return length(total / _MS) if total else None


def _timed(node: SpanNode) -> TimedSpan:
    span, is_tool = node.span, node.step.kind == "tool"
    seconds = (span.end - span.start) / 1e9 if 0 < span.start <= span.end else 0.0
    times = (rfc3339_of(span.start), rfc3339_of(span.end))
    return TimedSpan("TOOL" if is_tool else "LLM", node.step.name, None, *times, seconds=min(seconds, 3e11))


def rfc3339_of(nanos: int) -> str | None:
    """Returns nanoseconds since the epoch as RFC 3339; None: 0, or out of range."""
    try:
        return nanos_timestamp(nanos) if nanos else None
    except ValueError:
        return None


def _total(nodes: Sequence[SpanNode]) -> float | None:
    lengths = [node.span.end - node.span.start for node in nodes if 0 < node.span.start <= node.span.end]
    return length(sum(lengths) / _MS) if any(lengths) else None


def _usage(models: Sequence[SpanNode]) -> Usage | None:
    reports = [node.step.usage for node in models if node.step.usage is not None]
    if not reports:
        return None
    sums = {name: [n for each in reports if (n := getattr(each, name)) is not None] for name in _FIELDS}
    return Usage(**{name: sum(numbers) if numbers else None for name, numbers in sums.items()})


def _findings(line: TurnLine, calls: Sequence[TurnCall]) -> Unread:
    """Returns what the trace does not hold: content that was not captured, parts that are not read."""
    unread = Unread()
    worded = any(node.step.output for node in line.main) or any(unit.answer for unit in line.units)
    is_lost = _is_output_cut(line)
    if not worded and not is_lost:
        unread.add(CONTENT_OFF, _OFF, words=True)
    elif line.user is None:
        unread.add(MISSING_HISTORY, NO_REQUEST)
    if any(each.tool is not None and each.call.args is None for each in calls):
        unread.add(CONTENT_OFF, _ARGS_OFF, calls=True)
    elif not worded and not is_lost and not calls and any(_asks(node) for node in line.main):
        unread.add(CONTENT_OFF, "the trace records that calls were asked for, and not which", calls=True)
    if strangers := _strangers(line):
        shown = ", ".join(repr(text[:_SHOWN]) for text in strangers[:_MOST_SHOWN])
        unread.add(STRANGER, f"model calls were given what no message of the turn says: {shown}")
    if line.has_media:
        unread.add(UNREAD, "the user's message holds media, which are not read")
    for node in line.main:
        for message in node.step.output or ():
            for part in message.parts:
                unread.part(part)
    return unread


def _strangers(line: TurnLine) -> list[str]:
    """Returns what model calls were asked last and the user's message does not hold."""
    known = {line.user, *line.users}
    found = []
    for node in line.main[1:]:
        spoken = [each for each in node.step.input or () if each.role != SYSTEM]
        if spoken and spoken[-1].is_users and spoken[-1].text not in known:
            found.append(spoken[-1].text)
    return list(dict.fromkeys(found))


def _cut(line: TurnLine, calls: Sequence[TurnCall], turn: Turn) -> Unread:
    """Returns what a limit on the length of attributes took away."""
    unread = Unread()
    steps = [node.step for node in (*line.main, *(unit.top for unit in line.units)) if node is not None]
    if line.is_cut or any(step.input == [] or step.output == [] for step in steps):
        is_lost = _is_output_cut(line)
        unread.add(UNREAD, _CUT, calls=is_lost, words=is_lost or turn.user is None)
    texts = (each.call.args[RAW] for each in calls if each.call.args and each.call.args.keys() == {RAW})
    if any(isinstance(text, str) and text.lstrip().startswith(("{", "[")) for text in texts):
        unread.add(UNREAD, _CUT_ARGS, calls=True)
    if any(isinstance(each.response, str) and is_cut(each.response) for each in turn.tool_responses):
        unread.add(UNREAD, _CUT_RESULT, calls=True)
    return unread


def _is_output_cut(line: TurnLine) -> bool:
    """Returns whether what a model said is cut off, or what an agent said of which no model call is there."""
    tops = [unit.top for unit in line.units if unit.top is not None]
    is_models = any(node.step.output is not None for node in line.main)
    return any(node.step.output == [] for node in (line.main if is_models else tops))


def _asks(node: SpanNode) -> bool:
    return (node.step.finish or "").lower().replace("-", "_") in (
        "tool_calls",
        "tool_call",
        "tool_use",
        "function_call",
    )
