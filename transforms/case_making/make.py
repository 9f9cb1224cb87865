"""Makes an eval case of a conversation, and notes what a person has to decide."""

from collections import Counter
from typing import NamedTuple

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.decisions.cases import Candidate
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY
from turnwise.transforms.formats.traces.turns import STRANGER
from turnwise.transforms.matching.sample import recorded_case

TO_APPROVE, FROM_FAILED = "to_approve", "from_failed"
"""Tags: nobody has looked at the case; its conversation failed."""
TO_WRITE = "[to be written: the recorded answer failed]"
"""Stands in place of an answer that failed, so that the case cannot pass before a person wrote it."""

_OF_USERS = (STRANGER, MISSING_HISTORY)


class MadeCase(NamedTuple):
    """An eval case and what a person should look at in it.

    Attributes:
        notes: What there is to decide -> number of turns.
    """

    case: EvalCase
    notes: Counter[str]


def made_case(candidate: Candidate, eval_id: str, eval_set_id: str) -> MadeCase:
    """Returns the case that expects what a conversation holds.

    A turn for which a person stated expectations keeps those. An answer that failed is not expected: a text
    stands in its place that no agent says, and its calls are not stated.

    Raises:
        ValueError: The log holds neither answers nor calls that are certain.
    """
    case, notes = recorded_case(candidate.conversation), Counter[str]()
    case.eval_id, case.eval_set_id = eval_id, eval_set_id
    case.turns = [
        _turn(turn, expected, turn.turn_index in candidate.failed, notes)
        for turn, expected in zip(candidate.conversation.turns, case.turns, strict=True)
    ]
    if not any(turn.response or turn.tool_calls is not None for turn in case.turns):
        raise ValueError("no turn of the log holds an answer or calls that are certain: nothing to expect")
    marks = [TO_APPROVE, *([FROM_FAILED] if candidate.failed else [])]
    marks.append(f"conversation:{candidate.conversation.conversation_id}")
    case.tags = [*case.tags, *(mark for mark in marks if mark not in case.tags)]
    return MadeCase(case, notes)


def _is_doubtful(turn: Turn) -> bool:
    """Returns whether a finding says that the user's message may be another one."""
    return any(finding.kind in _OF_USERS for finding in turn.findings)


def _turn(turn: Turn, recorded: ExpectedTurn, has_failed: bool, notes: Counter[str]) -> ExpectedTurn:
    own = turn.expected
    if not (turn.user or "").strip() and not turn.user_tool_calls:
        notes["turns without a message of the user, to be looked at"] += 1
    elif _is_doubtful(turn):
        notes["turns of which the log may miss what the user said, to be looked at"] += 1
    if own is not None and (own.response is not None or own.tool_calls is not None):
        notes["turns with the expectations that they were held against"] += 1
        return ExpectedTurn(user=turn.user, response=own.response, tool_calls=own.tool_calls)
    if has_failed:
        notes["turns whose answer failed, to be written"] += 1
        return ExpectedTurn(user=turn.user, response=TO_WRITE)
    if recorded.tool_calls is None or (recorded.response is None and turn.unknown_words):
        notes["turns of which the log may miss something, not stated"] += 1
    notes["turns that expect the recorded answer and calls"] += 1
    return recorded
