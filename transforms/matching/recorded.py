"""Converts between a recording and the golden case that expects exactly what it holds."""

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedTurn, ToolCall, Turn
from turnwise.transforms.matching.cases import inline_case
from turnwise.transforms.matching.sample import stated_case


def contained_case(conversation: Conversation) -> EvalCase | None:
    """Returns the case that a conversation's record contains, with what the user said; None: none."""
    case = inline_case(conversation)
    if case is None:
        return None
    for expected, turn in zip(case.turns, conversation.turns, strict=False):
        expected.user = turn.user if expected.user is None else expected.user
    case.language, case.tags, case.tools = conversation.language, conversation.tags, conversation.tools
    return case


def recorded_case(conversation: Conversation) -> EvalCase:
    """Returns the golden case that expects what a conversation holds.

    Calls are not stated where the log may miss some, answers where it may miss words.
    """
    return EvalCase(
        eval_id=stated_case(conversation) or conversation.conversation_id,
        eval_set_id=conversation.eval_set_id,
        tags=list(conversation.tags),
        language=conversation.language,
        turns=[_expected(turn) for turn in conversation.turns],
        tools=list(conversation.tools),
    )


def _expected(turn: Turn) -> ExpectedTurn:
    said = None if turn.unknown_words else turn.agent or None
    texts = [] if turn.unknown_words else turn.agent_messages
    return ExpectedTurn(
        user=turn.user,
        response=said,
        adk_text=turn.adk_text if said else None,
        tool_calls=None if turn.unknown_calls else [_plain(call) for call in turn.tool_calls],
        intermediate_responses=[text for text in texts[:-1] if text],
        scripted_transfers=list(turn.transfers),
    )


def _plain(call: ToolCall) -> ToolCall:
    """Returns a call without its id, which no other run repeats."""
    return ToolCall(name=call.name, args=call.args, resource=call.resource)


def played_case(case: EvalCase) -> Conversation:
    """Returns the conversation in which a golden case is met word by word."""
    return Conversation(
        conversation_id=case.eval_id,
        eval_id=case.eval_id,
        eval_set_id=case.eval_set_id,
        language=case.language,
        tags=list(case.tags),
        turns=[_played(index, turn) for index, turn in enumerate(case.turns)],
        tools=list(case.tools),
    )


def _played(index: int, expected: ExpectedTurn) -> Turn:
    texts = [*expected.intermediate_responses, *([expected.response] if expected.response else [])]
    return Turn(
        turn_index=index,
        user=expected.user,
        agent=expected.response,
        adk_text=expected.adk_text,
        tool_calls=list(expected.tool_calls or ()),
        agent_messages=texts if len(texts) > 1 else [],
        transfers=list(expected.scripted_transfers),
    )
