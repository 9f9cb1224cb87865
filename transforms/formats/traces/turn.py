"""Turns of a conversation, with their words, calls, times and tokens."""

from collections.abc import Sequence

from turnwise.schemas.conversation import TimedSpan, Turn, Usage
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.formats.messages.base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.spellings import length
from turnwise.transforms.formats.traces.calls import TurnCall, after_user, transfers, turn_calls
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.losses import add_losses, is_output_cut
from turnwise.transforms.formats.traces.message import (
    AGENT,
    FURTHER_CHOICE,
    HIDDEN_TEXT,
    SYSTEM,
    USER,
    SpanMessage,
)
from turnwise.transforms.formats.traces.message_repr import is_repr_call
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.unread import UNREAD, Unread

STRANGER = "UnreadUserText"
_SHOWN, _MOST_SHOWN = 80, 3
CONTENT_OFF = "ContentNotRecorded"
_OFF = "the trace holds no words of the agent that can be read; texts cannot be scored"
_USER_OFF = "the trace does not record what the user said"
_ARGS_OFF = "the trace records no arguments or results of calls"
_FIELDS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
_TOTALS = _FIELDS[:2]
_FAILED = "AgentError"
_USAGE_OFF = "UsageNotRecorded"
_CHOICES = "the reply has alternatives; the first one is read"
_MS = 1e6


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
        spans=[_timed(node) for node in sorted((*models, *line.tools), key=_order) if _is_timed(node)],
        model_ms=_total(models),
        tool_ms=_total(line.tools),
        inference_calls=len(models) or None,
        usage=_usage(models),
    )
    _add_times(turn, line)
    add_losses(line, calls, turn)
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
    if final and is_final and (answer is None or _is_said_otherwise(answer, final, line)):
        answer = "\n".join(final)
        texts += [text for text in final if text not in texts]
    return texts, answer


def _is_said_otherwise(answer: str, final: Sequence[str], line: TurnLine) -> bool:
    """Returns whether the agent's answer counts, not a model's text: one is the end of the other.

    A model that was given another text than the user's, such as a prompt with the user's words in it, may
    answer in a form that only the agent reads.
    """
    whole = "\n".join(final).strip()
    if answer.strip() == whole or whole.endswith(answer.strip()) or answer.strip().endswith(whole):
        return True
    given = {each.text for unit in line.units for each in unit.given if each.is_users}
    node = _answering(line)
    is_prompt = node is not None and bool(given) and _asked(node) not in {"", line.user, *given}
    return is_prompt or node in _strangers(line)


def _said(messages: Sequence[SpanMessage]) -> tuple[list[str], bool]:
    texts = [text for each in messages if each.role == AGENT for text in each.texts]
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


def _order(node: SpanNode) -> tuple[int, int, str, str]:
    return node.order


def _is_timed(node: SpanNode) -> bool:
    return 0 < node.span.start <= node.span.end


def _timed(node: SpanNode) -> TimedSpan:
    span, is_tool = node.span, node.step.kind == "tool"
    seconds = (span.end - span.start) / 1e9
    times = (rfc3339_of(span.start), rfc3339_of(span.end))
    return TimedSpan("TOOL" if is_tool else "LLM", node.step.name, None, *times, seconds=min(seconds, 3e11))


def rfc3339_of(nanos: int) -> str | None:
    """Returns nanoseconds since the epoch as RFC 3339; None: 0, or out of range."""
    try:
        return nanos_timestamp(nanos) if nanos else None
    except ValueError:
        return None


def _total(nodes: Sequence[SpanNode]) -> float | None:
    """Returns the sum of lengths; None: a span does not state its own, or all state 0."""
    lengths = [node.span.end - node.span.start for node in nodes if _is_timed(node)]
    return length(sum(lengths) / _MS) if any(lengths) and len(lengths) == len(nodes) else None


def _usage(models: Sequence[SpanNode]) -> Usage | None:
    """Returns the tokens of all model calls; None: not all that ended well report them."""
    reports = [node.step.usage for node in models if node.step.usage is not None]
    if not reports or _unreported(models):
        return None
    sums = {name: [n for each in reports if (n := getattr(each, name)) is not None] for name in _FIELDS}
    for name in _TOTALS:
        sums[name] = sums[name] if len(sums[name]) == len(reports) else []
    return Usage(**{name: sum(numbers) if numbers else None for name, numbers in sums.items()})


def _unreported(models: Sequence[SpanNode]) -> int:
    """Returns how many model calls that ended well report no tokens."""
    return sum(node.step.usage is None and not node.step.error for node in models)


def _findings(line: TurnLine, calls: Sequence[TurnCall]) -> Unread:
    """Returns what the trace does not hold: content that was not captured, parts that are not read."""
    unread = Unread()
    is_silent = not (_is_worded(line) or is_output_cut(line))
    _add_silence(line, is_silent, unread)
    models = [*line.main, *line.inner]
    if (lacking := _unreported(models)) and any(node.step.usage is not None for node in models):
        told = f"{lacking} of {len(models)} model calls report no tokens, so that their sum is unknown"
        unread.add(_USAGE_OFF, told)
    if any(each.tool is not None and each.call.args is None for each in calls):
        unread.add(CONTENT_OFF, _ARGS_OFF, calls=True)
    elif is_silent and not calls and any(_asks(node) for node in line.main):
        unread.add(CONTENT_OFF, "the trace records that calls were asked for, and not which", calls=True)
    if strangers := _strangers(line):
        texts = list(dict.fromkeys(_asked(node) for node in strangers))
        shown = ", ".join(repr(text[:_SHOWN]) for text in texts[:_MOST_SHOWN])
        told = f"model calls were given what no message of the turn says: {shown}"
        unread.add(STRANGER, told, words=_answering(line) in strangers and not _answer(line)[1])
    if line.has_media:
        unread.add(UNREAD, "the user's message holds media, which are not read")
    for node in line.main:
        for message in node.step.output or ():
            for part in message.parts:
                _add_part(part, unread)
    return unread


def _is_worded(line: TurnLine) -> bool:
    return any(node.step.output for node in line.main) or any(unit.answer for unit in line.units)


def _add_silence(line: TurnLine, is_silent: bool, unread: Unread) -> None:
    """Adds why the agent's words or the user's message are not there."""
    if is_silent and line.failure is not None:
        unread.add(_FAILED, f"the agent failed and said nothing: {line.failure[:_SHOWN]}")
    elif is_silent:
        unread.add(CONTENT_OFF, _OFF, words=True)
    elif line.is_hidden:
        unread.add(CONTENT_OFF, _USER_OFF)
    elif line.user is None:
        unread.add(MISSING_HISTORY, NO_REQUEST)


def _add_part(part: str, unread: Unread) -> None:
    """Adds a part of the agent's message that is not read."""
    if part == HIDDEN_TEXT:
        unread.add(CONTENT_OFF, _OFF, words=True)
    elif part == FURTHER_CHOICE:
        unread.add(UNREAD, _CHOICES)
    else:
        unread.part(part)


def _strangers(line: TurnLine) -> list[SpanNode]:
    """Returns the model calls that were asked last what the user's message does not hold."""
    known = {"", line.user, *line.users}
    return [node for node in line.main[1:] if _asked(node) not in known]


def _asked(node: SpanNode) -> str:
    """Returns the message of a user that a model's input ends in; empty: it ends in none."""
    spoken = [each for each in node.step.input or () if each.role != SYSTEM]
    return spoken[-1].text if spoken and spoken[-1].is_users else ""


def _answering(line: TurnLine) -> SpanNode | None:
    """Returns the last model call of the main line that said something."""
    return next((node for node in reversed(line.main) if any(_said(node.step.output or ())[0])), None)


def _asks(node: SpanNode) -> bool:
    return (node.step.finish or "").lower().replace("-", "_") in (
        "tool_calls",
        "tool_call",
        "tool_use",
        "function_call",
    )
