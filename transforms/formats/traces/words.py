"""What the agent said in a turn, and which of it is its answer."""

from collections.abc import Sequence

from turnwise.transforms.formats.traces.calls import after_user, asks
from turnwise.transforms.formats.traces.lines import TurnLine, tries_again
from turnwise.transforms.formats.traces.message import AGENT, SYSTEM, USER, SpanMessage
from turnwise.transforms.formats.traces.message_repr import is_repr_call
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.tree import SpanNode

_SHORT = 20
"""Length of a reply that may stand in a prompt by chance."""


def agent_words(line: TurnLine) -> tuple[list[str], str | None]:
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
        output = node.step.output or ()
        said, calls = _said(output)
        texts += said
        answer = _last_words(output, said) if said and not (calls or asks(node)) else answer
    final, is_final = stated_answer(line)
    if final and is_final and (answer is None or _is_said_otherwise(answer, final, line)):
        answer = "\n".join(final)
        texts += [text for text in final if text not in texts]
    return texts, answer


def _last_words(output: Sequence[SpanMessage], said: Sequence[str]) -> str:
    """Returns what a reply says after the last call that the model's service ran, if anything."""
    last = output[-1]
    return "\n".join((last.answer_from and last.texts[last.answer_from :]) or said)


def _is_said_otherwise(answer: str, final: Sequence[str], line: TurnLine) -> bool:
    """Returns whether the agent's answer counts, not a model's text: one is the end of the other.

    A model that was given another text than the user's, such as a prompt with the user's words in it, may
    answer in a form that only the agent reads. Of several models that answered, the agent says which counts.
    """
    whole = "\n".join(final).strip()
    if answer.strip() == whole:
        return False
    if whole.endswith(answer.strip()) or answer.strip().endswith(whole):
        return True
    given = {each.text for unit in line.units for each in unit.given if each.is_users}
    node = answering(line)
    is_prompt = node is not None and bool(given) and asked_text(node) not in {"", line.user, *given}
    is_earlier = any(whole == "\n".join(_said(each.step.output or ())[0]).strip() for each in line.main)
    return is_prompt or is_earlier or node in strangers(line) or is_contested(line)


def _said(messages: Sequence[SpanMessage]) -> tuple[list[str], bool]:
    texts = [text for each in messages if each.role == AGENT for text in each.texts]
    has_calls = any(not call.is_hosted for each in messages[-1:] for call in each.calls)
    has_calls = has_calls or any(map(is_repr_call, texts))
    return [text for text in texts if not is_repr_call(text)], has_calls


def stated_answer(line: TurnLine) -> tuple[list[str], bool]:
    """Returns the words of the agent's own output after the last message of the user in it."""
    messages = next((unit.answer for unit in reversed(line.units) if unit.answer), [])
    last = max((i for i, each in enumerate(messages) if each.role == USER), default=-1)
    own = [each for each in messages[last + 1 :] if each.role == AGENT]
    if line.main:
        return (own[-1].texts, not own[-1].calls) if own else ([], False)
    return [text for each in own for text in each.texts][-1:], bool(
        own and own[-1].texts and not own[-1].calls
    )


def strangers(line: TurnLine) -> list[SpanNode]:
    """Returns the model calls that were asked last what the user's message does not hold."""
    known = {"", line.user, *line.users}
    return [node for node in line.main[1:] if asked_text(node) not in known and not tries_again(node)]


def asked_text(node: SpanNode) -> str:
    """Returns the message of a user that a model's input ends in; empty: it ends in none."""
    spoken = [each for each in node.step.input or () if each.role != SYSTEM]
    return spoken[-1].text if spoken and spoken[-1].is_users else ""


def answering(line: TurnLine) -> SpanNode | None:
    """Returns the last model call of the main line that said something."""
    return next((node for node in reversed(line.main) if any(_said(node.step.output or ())[0])), None)


def is_contested(line: TurnLine) -> bool:
    """Returns whether several models answered at one time or apart, so that any of them may be the answer."""
    last = answering(line)
    return last is not None and any(
        node is not last and _answers(node) and (_overlap(*_apart(node, last)) or _is_asked_apart(node, last))
        for node in line.main
    )


def _is_asked_apart(node: SpanNode, last: SpanNode) -> bool:
    """Returns whether two model calls were asked the same, and the later was not told the reply before."""
    asked = asked_text(last)
    if not asked or asked_text(node) != asked:
        return False
    said = {text.strip() for text in _said(node.step.output or ())[0]}
    given = [text.strip() for each in last.step.input or () for text in each.texts]
    return not any(text == held or (len(text) > _SHORT and text in held) for text in said for held in given)


def _answers(node: SpanNode) -> bool:
    texts, has_calls = _said(node.step.output or ())
    return bool(texts) and not has_calls


def _apart(one: SpanNode, other: SpanNode) -> tuple[TraceSpan, TraceSpan]:
    """Returns the spans of two model calls, or of the agents that made them if each has one of its own."""
    first, second = (_agent_of(node) for node in (one, other))
    is_apart = first is not second and first not in second.above() and second not in first.above()
    return (first.span, second.span) if is_apart else (one.span, other.span)


def _agent_of(node: SpanNode) -> SpanNode:
    return next((above for above in node.above() if above.step.kind == "agent"), node)


def _overlap(one: TraceSpan, other: TraceSpan) -> bool:
    return 0 < one.start < other.end and 0 < other.start < one.end
