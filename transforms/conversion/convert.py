"""Converts conversations and eval cases, and finds what the target cannot hold by reading it back."""

from collections import Counter
from typing import NamedTuple, TypeVar

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedOutcome, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.conversion.differences import Differences
from turnwise.transforms.matching.sample import contained_case, played_case, recorded_case
from turnwise.transforms.tools.conversion import Codec, RunOfConversation, Target

T = TypeVar("T", Conversation, EvalCase)


class Converted(NamedTuple):
    """A converted conversation or case.

    Attributes:
        record: The record.
        not_held: Field -> how often the target does not hold it, or holds something else.
        added: Field -> how often the target states it and the original does not.
    """

    record: JsonObject
    not_held: Counter[str]
    added: Counter[str]


def converted(item: Conversation | EvalCase, target: Target) -> Converted:
    """Converts a conversation or an eval case.

    A conversation becomes a case that expects what its record expects of the turns or, where that expects
    nothing, what it holds itself. A golden case becomes the conversation in which it is met.

    Raises:
        ValueError: The target cannot hold it; one line.
    """
    if isinstance(item, EvalCase):
        return _written(item, target.case) if target.case else _as_conversation(item, target)
    own = contained_case(item) if target.is_for_cases else None
    if target.conversation is not None and not (own and own.turns):
        return _written(item, target.conversation)
    if target.case is None:
        raise ValueError(f"{target.name} holds no eval cases")
    return _as_case(item, own, target.case)


def _as_conversation(case: EvalCase, target: Target) -> Converted:
    if target.conversation is None or not case.turns:
        raise ValueError(f"the case {case.eval_id} has no turns, which {target.name} needs")
    record, back = _and_back(played_case(case), target.conversation)
    return _compared(record, case, recorded_case(back), target.conversation.made)


def scored(run: RunOfConversation, target: Target) -> Converted:
    """Converts a conversation of a run with its scores.

    Raises:
        ValueError: The target holds no scores, or cannot hold the conversation; one line.
    """
    if target.scored is None or target.conversation is None:
        raise ValueError(f"{target.name} holds no scores")
    record = target.scored(run)
    back = target.conversation.read(record)
    return _compared(record, run.conversation, back, target.conversation.made)


def _and_back(item: T, codec: Codec[T]) -> tuple[JsonObject, T]:
    record = codec.write(item)
    try:
        return record, codec.read(record)
    except ValueError as error:
        raise ValueError(f"it cannot be read back: {error}") from None


def _written(item: T, codec: Codec[T]) -> Converted:
    record, back = _and_back(item, codec)
    return _compared(record, item, back, codec.made)


def _compared(record: JsonObject, before: T, after: T, made: frozenset[str]) -> Converted:
    found = Differences().compare(before, after)
    added = Counter({path: count for path, count in found.added.items() if path not in made})
    return Converted(record, found.not_held, added)


def _as_case(item: Conversation, own: EvalCase | None, codec: Codec[EvalCase]) -> Converted:
    case = own or recorded_case(item)
    record, back = _and_back(case, codec)
    return _compared(record, item, _expecting(back) if own else played_case(back), codec.made)


def _expecting(case: EvalCase) -> Conversation:
    """Returns a conversation that holds nothing but what a case expects."""
    outcome = ExpectedOutcome(
        actions=case.actions,
        outputs=case.outputs,
        rubric=[rubric.text for rubric in case.rubrics],
        user_actions=case.user_actions,
        final_session_state=case.final_session_state,
        unread=case.unread,
    )
    return Conversation(
        conversation_id=case.eval_id,
        eval_id=case.eval_id,
        eval_set_id=case.eval_set_id,
        language=case.language,
        tags=case.tags,
        turns=[Turn(turn_index=i, user=turn.user, expected=turn) for i, turn in enumerate(case.turns)],
        expected=None if outcome == ExpectedOutcome() else outcome,
        tools=case.tools,
    )
