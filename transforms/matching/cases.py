"""Finds the eval case that a conversation names, and joins it with what the record itself expects."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.ces.names import app_in
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Rubric, Turn
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.matching.own_turns import joined_turns
from turnwise.transforms.matching.packed_case import PackedCase
from turnwise.transforms.matching.sample import Sample, stated_case

USED_CASE = "used case "
"""Start of the names of counters, by key: the given eval cases that conversations are held against."""
_NO_SET = "(no set)"
_SHOWN_SETS = 5
_MOST_UNPACKED = 10_000
GivenCase = EvalCase | PackedCase


class UnknownCaseError(LookupError):
    """A conversation names a case that is not among the eval cases."""


class AmbiguousCaseError(LookupError):
    """A conversation names a case that several sets have, and no set."""


def inline_case(conversation: Conversation) -> EvalCase | None:
    """Returns the case that a record contains; None: it contains no expectations."""
    turns = [turn.expected for turn in conversation.turns]
    if conversation.expected is None and not any(turns):
        return None
    expected = [turn or ExpectedTurn() for turn in turns] if any(turns) else []
    eval_id = stated_case(conversation) or conversation.conversation_id
    case = EvalCase(eval_id=eval_id, eval_set_id=conversation.eval_set_id, turns=expected)
    outcome = conversation.expected
    if outcome is not None:
        case.rubrics = [Rubric(rubric_id=str(i), text=text) for i, text in enumerate(outcome.rubric)]
        case.actions, case.outputs = outcome.actions, outcome.outputs
        case.user_actions, case.final_session_state = outcome.user_actions, outcome.final_session_state
        case.unread = outcome.unread
    return case


class CaseIndex:
    """Eval cases by id, and by the last segment of a resource name; their sets distinguish equal ids."""

    def __init__(self, cases: Sequence[GivenCase] | None) -> None:
        """Indexes the cases; None: none were given."""
        self._are_given = cases is not None
        self._by_id: defaultdict[str, list[GivenCase]] = defaultdict(list)
        self._by_last_segment: defaultdict[str, list[GivenCase]] = defaultdict(list)
        self._unpacked: dict[CaseKey, EvalCase] = {}
        for case in cases or ():
            self._by_id[case.eval_id].append(case)
            if "/" in case.eval_id:
                self._by_last_segment[_short(case.eval_id)].append(case)

    def find(self, conversation: Conversation) -> EvalCase | None:
        """Returns the conversation's case: the one it names, with the record's own expectations first.

        Where no cases are given, a name alone points nowhere and the conversation is scored without a case.
        Where the named case is not among the given ones, the record's own expectations are returned with
        the reason in `not_found`.

        Raises:
            UnknownCaseError: It names a case that is not among the given ones and expects nothing itself.
            AmbiguousCaseError: It names no set, several have the case, and it expects nothing itself.
        """
        own = inline_case(conversation)
        if conversation.eval_id is None or not self._are_given:
            return own
        try:
            case = self._named(conversation, conversation.eval_id)
        except LookupError as error:
            if own is None:
                raise
            own.not_found = str(error)
            return own
        return case if own is None else _with_own(case, own, conversation.turns)

    def _named(self, conversation: Conversation, name: str) -> EvalCase:
        found = self._by_id.get(name) or self._of_short_name(name)
        if not found:
            raise UnknownCaseError(f"no eval case is called {name!r}")
        chosen = _of_set(found, conversation)
        if len(chosen) == 1:
            return self._whole(chosen[0])
        sets = list(dict.fromkeys(_set_of(case) or _NO_SET for case in found))
        shown = ", ".join(sets[:_SHOWN_SETS]) + (", ..." if len(sets) > _SHOWN_SETS else "")
        if conversation.eval_set_id:
            where = f"in the set {conversation.eval_set_id!r}"
            raise UnknownCaseError(f"no eval case is called {name!r} {where}; sets that have one: {shown}")
        raise AmbiguousCaseError(
            f"several eval cases are called {name!r}; name the set in eval_set_id: {shown}"
        )

    def _of_short_name(self, name: str) -> Sequence[GivenCase]:
        """Returns the cases of that short name; two full names that differ are two cases."""
        return self._by_id.get(_short(name), ()) if "/" in name else self._by_last_segment.get(name, ())

    def _whole(self, found: GivenCase) -> EvalCase:
        if isinstance(found, EvalCase):
            return found
        case = self._unpacked.get(found.key)
        if case is None:
            if len(self._unpacked) >= _MOST_UNPACKED:
                self._unpacked.clear()
            case = self._unpacked[found.key] = found.unpacked()
        return case


def match_case(
    index: CaseIndex, conversation: Conversation, record: Record, counts: Counter[str]
) -> Sample | Failure:
    """Returns a conversation beside its case; a failure if its case is unknown or ambiguous.

    Args:
        index: The cases of the run.
        conversation: What is to be scored.
        record: Where it was read.
        counts: `lost_conversations` counts the failures.
    """
    try:
        return Sample(conversation, index.find(conversation), record)
    except Exception as error:
        counts["lost_conversations"] += 1
        failure = record_failure("match", error, record, conversation.conversation_id)
        failure.app_version = conversation.app_version
        return failure


def _short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _set_of(case: GivenCase) -> str:
    """Returns the set of a case: the one that it states, or the app of its resource name."""
    app, is_resource, _ = case.eval_id.rpartition("/evaluations/")
    return case.eval_set_id or (app if is_resource else "")


def _of_set(found: Sequence[GivenCase], conversation: Conversation) -> Sequence[GivenCase]:
    """Returns the cases of the set that a conversation states, or else, of several, those of its own app."""
    stated = conversation.eval_set_id
    if stated:
        own = [case for case in found if _set_of(case) == stated]
        return own or [case for case in found if not _set_of(case)]
    if len(found) == 1:
        return found
    app = app_in(conversation.conversation_id, conversation.app_version)
    return [case for case in found if app and _set_of(case) == app]


def _with_own(case: EvalCase, own: EvalCase, recorded: Sequence[Turn]) -> EvalCase:
    """Returns a case with what a record itself expects in place of what the case does, field by field."""
    lists = {
        name: getattr(own, name)
        for name in ("outputs", "user_actions", "final_session_state", "rubrics")
        if getattr(own, name)
    }
    actions = case.actions if own.actions is None else own.actions
    turns = joined_turns(case.turns, own.turns, recorded)
    unread = own.unread or case.unread
    return msgspec.structs.replace(case, turns=turns, actions=actions, unread=unread, **lists)
