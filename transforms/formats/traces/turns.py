"""Turns of a conversation, with their words, calls, times and tokens."""

from collections.abc import Sequence

from msgspec.structs import replace

from turnwise.schemas.conversation import Turn, Usage
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, NO_REQUEST
from turnwise.transforms.formats.traces.calls import (
    TurnCall,
    after_user,
    asks,
    lacks_calls,
    transfers,
    turn_calls,
)
from turnwise.transforms.formats.traces.cut import CUT
from turnwise.transforms.formats.traces.lines import TurnLine
from turnwise.transforms.formats.traces.losses import add_losses, is_output_cut
from turnwise.transforms.formats.traces.message import CONTENT_OFF, HIDDEN_TEXT, is_spoken
from turnwise.transforms.formats.traces.news import users_of
from turnwise.transforms.formats.traces.times import add_times, timed_spans, total_ms
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.traces.words import (
    agent_words,
    answering,
    asked_text,
    is_contested,
    stated_answer,
    strangers,
)
from turnwise.transforms.formats.unread import Unread

STRANGER = "UnreadUserText"
_SHOWN, _MOST_SHOWN = 80, 3
_OFF = "the trace holds no words of the agent that can be read; texts cannot be scored"
_USER_OFF = "the trace does not record what the user said"
_ARGS_OFF = "the trace records no arguments or results of calls"
_WHICH_OFF = "the trace records that calls were asked for, and not which"
_STEPS_OFF = "the trace records no call of a model or a tool; what the agent called is unknown"
_FIELDS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
_TOTALS = _FIELDS[:2]
_FAILED = "AgentError"
_USAGE_OFF = "UsageNotRecorded"
_SEVERAL = "SeveralAnswers"


def line_turn(line: TurnLine, index: int) -> Turn:
    """Returns a turn."""
    calls = turn_calls(line)
    texts, answer = agent_words(line)
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
        spans=timed_spans([*models, *line.tools]),
        model_ms=total_ms(models),
        tool_ms=total_ms(line.tools),
        inference_calls=len(models) or None,
        usage=_usage(models),
    )
    add_times(turn, line)
    add_losses(line, calls, turn)
    _findings(line, calls).add_to(turn)
    return turn


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
    _add_calls(line, calls, unread)
    if others := strangers(line):
        texts = list(dict.fromkeys(asked_text(node) for node in others))
        shown = ", ".join(repr(text[:_SHOWN]) for text in texts[:_MOST_SHOWN])
        told = f"model calls were given what no message of the turn says: {shown}"
        unread.add(STRANGER, told, words=answering(line) in others and not stated_answer(line)[1])
    if is_contested(line) and not stated_answer(line)[1]:
        unread.add(
            _SEVERAL,
            "models answered apart from each other; which answer the user got is unknown",
            words=True,
        )
    _add_unread(line, unread)
    return unread


def _add_unread(line: TurnLine, unread: Unread) -> None:
    """Adds what is not read of the messages: of the user's, of replies, and of those between them.

    Where no message is a user's, all are read, because one of an unknown role may be. What agents say that a
    tool called is nothing that the user was told.
    """
    tops = [unit.top for unit in line.units if unit.top is not None and unit.top.step.kind == "agent"]
    nodes = [*line.main, *([] if line.main else tops), *line.inner]
    seen: set[tuple[object, ...]] = set()
    if line.asked is not None and not line.asked.is_read:
        parts = [part for part in line.asked.parts if part not in (CUT, HIDDEN_TEXT)]
        replace(line.asked, parts=parts).add_unread(unread)
    for place, node in enumerate(nodes):
        given, said = node.step.input or (), node.step.output or ()
        is_told = place < len(nodes) - len(line.inner)
        for message in (*(after_user(given) or ([] if users_of(given) else given)), *said):
            held = message.role, message.stated_role, *message.parts, *message.keys
            if not message.is_read and not message.is_users and (is_told, held) not in seen:
                seen.add((is_told, held))
                message.add_unread(unread, None if is_told else False)


def _add_calls(line: TurnLine, calls: Sequence[TurnCall], unread: Unread) -> None:
    """Adds why calls or their arguments are not there."""
    is_seen = bool(line.main or line.inner or line.tools or line.handoffs or calls) or _ends_as_model(line)
    if any(each.tool is not None and each.call.args is None for each in calls):
        unread.add(CONTENT_OFF, _ARGS_OFF, calls=True)
    elif lacks_calls(line, calls):
        # A text beside such a call may be the answer, if the model's service ran the tool.
        is_last = bool(line.main) and asks(line.main[-1]) and is_spoken(line.main[-1].step.output or ())
        unread.add(CONTENT_OFF, _WHICH_OFF, calls=True, words=is_last)
    elif not is_seen:
        unread.add(CONTENT_OFF, _STEPS_OFF, calls=True)


def _ends_as_model(line: TurnLine) -> bool:
    """Returns whether an agent states why its model stopped: it is the model's call, too."""
    return any(unit.top is not None and unit.top.step.finish for unit in line.units)


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
