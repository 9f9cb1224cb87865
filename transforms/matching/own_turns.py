"""Joins the turns that a record itself expects with those of the case that it names, field by field."""

from collections.abc import Sequence

import msgspec

from turnwise.schemas.conversation import Expectation, ExpectedTurn, Turn
from turnwise.transforms.matching.alignment import align
from turnwise.transforms.matching.expectations import turn_expectations

_CALLS, _WORDS = "calls", "words"
_GROUPS = {"tool_call": _CALLS, "no_tool_calls": _CALLS, "agent_response": _WORDS}
_LISTS = ("intermediate_responses", "scripted_transfers", "rubrics")
_NOTHING = ExpectedTurn()


def joined_turns(
    given: list[ExpectedTurn], own: Sequence[ExpectedTurn], recorded: Sequence[Turn]
) -> list[ExpectedTurn]:
    """Returns the turns of a case, with what the record expects itself in place of what the case does.

    With equal numbers of turns, turn i is joined with turn i; otherwise the recorded turns are aligned with
    the case's. No turn of the case is left out.

    Args:
        given: The case's turns.
        own: What the record expects of each of its turns; empty: of none.
        recorded: The record's turns.
    """
    if all(turn == _NOTHING for turn in own):
        return given
    if not given:
        return list(own)
    if len(own) == len(given):
        return [_joined(case, turn) for case, turn in zip(given, own, strict=True)]
    joined: list[ExpectedTurn] = []
    for i, j in align(given, recorded):
        if i is None and j is not None and own[j] != _NOTHING:
            joined.append(msgspec.structs.replace(own[j], user=own[j].user or recorded[j].user))
        elif i is not None:
            joined.append(given[i] if j is None else _joined(given[i], own[j]))
    return joined


def _joined(case: ExpectedTurn, own: ExpectedTurn) -> ExpectedTurn:
    if own == _NOTHING:
        return case
    stated = _stated_groups(own)
    words, calls = (own if _WORDS in stated else case), (own if _CALLS in stated else case)
    return ExpectedTurn(
        user=case.user if own.user is None else own.user,
        response=words.response,
        adk_text=words.adk_text,
        adk_reads=words.adk_reads and calls.adk_reads,
        tool_calls=calls.tool_calls,
        expectations=_expectations(case, own, stated),
        thresholds=own.thresholds or case.thresholds,
        unread=own.unread or case.unread,
        **{name: getattr(own, name) or getattr(case, name) for name in _LISTS},
    )


def _stated_groups(turn: ExpectedTurn) -> set[str]:
    """Returns what a turn states something of: words, calls, and the further kinds of expectations."""
    stated = {_group(expectation) for expectation in turn.expectations}
    if turn.response is not None:
        stated.add(_WORDS)
    if turn.tool_calls is not None:
        stated.add(_CALLS)
    return stated


def _group(expectation: Expectation) -> str:
    return _GROUPS.get(expectation.kind, expectation.kind)


def _expectations(case: ExpectedTurn, own: ExpectedTurn, stated: set[str]) -> list[Expectation]:
    """Returns the CES form of a joined turn; empty where neither side has it."""
    if not (case.expectations or own.expectations):
        return []
    kept = [each for each in turn_expectations(case) if _group(each) not in stated]
    return [*turn_expectations(own), *kept]
