"""Scores and decides one conversation for an assertion."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from turnwise.pipeline.python.evaluate import (
    Config,
    Options,
    finished,
    read_cases,
    read_conversations,
    run_settings,
    score_with_judge,
)
from turnwise.pipeline.python.inputs import CaseInput, ConversationInput
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.conversation import Conversation, Record, ToolCall
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.judging.backends.base import Backend
from turnwise.transforms.judging.judges import JudgeKind
from turnwise.transforms.matching.sample import CaseIndex, Sample
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import (
    CriterionScores,
    ScoredConversation,
    Verdict,
    conversation_verdict,
)


class Checked(msgspec.Struct, frozen=True):
    """A scored and decided conversation.

    Attributes:
        scored: Its scores, without those that may have no score and are.
        verdict: Its verdict by these scores.
        allowed: Criteria that may have no score; `verdict`: the verdict.
        criteria: All criteria by which it was scored.
    """

    scored: ScoredConversation
    verdict: Verdict
    allowed: frozenset[str]
    criteria: tuple[Criterion, ...]

    @property
    def failed(self) -> list[CriterionScores]:
        """The criteria with a threshold that the conversation fails."""
        return [
            result
            for result in self.scored.scores
            if result.criterion.threshold is not None
            and result.overall is not None
            and result.overall.outcome == "FAIL"
        ]

    @property
    def no_score(self) -> list[CriterionScores]:
        """The criteria that raised an error, or have no score somewhere and must."""
        return [
            result
            for result in self.scored.scores
            if result.errors or (has_no_score(result) and result.criterion.name not in self.allowed)
        ]

    @property
    def is_passed(self) -> bool:
        """Whether nothing failed, and nothing lacks a score or verdict that must have one."""
        if self.failed or self.no_score or self.verdict.status == "FAIL":
            return False
        return self.verdict.status == "PASS" or STATUS in self.allowed


class _Kept:
    """Receives the scored conversation."""

    scored: ScoredConversation

    def add(self, scored: ScoredConversation) -> None:
        self.scored = scored

    def reject(self, sample: Sample, error: BaseException) -> None:
        raise error


def check_conversation(
    conversation: ConversationInput,
    case: CaseInput | None,
    criteria: Mapping[str, Any] | None,
    config: Config | None,
    judge: str | Backend | JudgeKind | None,
    allow_no_score: Collection[str],
) -> Checked:
    """Scores one conversation by all criteria and decides it; see `assert_conversation`."""
    settings = run_settings(Options(criteria, config, judge), case is not None)
    allowed = _allowed(allow_no_score, settings.criteria_names)
    sample = _sample(conversation, case, config)
    kept = _Kept()
    finished(score_with_judge([sample], settings, kept))
    scored = kept.scored
    scored.scores = [result for result in scored.scores if not _is_let_off(result, allowed)]
    return Checked(scored, conversation_verdict(scored, RULES), allowed, settings.criteria)


def _is_let_off(result: CriterionScores, allowed: Collection[str]) -> bool:
    """Returns whether a criterion has no score and may have none: it failed nowhere, and raised no error."""
    scores = [result.overall, *(score for _, score in result.turns)]
    has_failed = any(score is not None and score.outcome == "FAIL" for score in scores)
    is_allowed = result.criterion.name in allowed and not result.errors
    return is_allowed and not has_failed and has_no_score(result)


def has_no_score(result: CriterionScores) -> bool:
    """Returns whether a criterion that applies has no score or no outcome somewhere."""
    overall = result.overall
    is_gate = result.criterion.threshold is not None
    if result.errors or (is_gate and overall is not None and overall.outcome is None):
        return True
    scores = [score for _, score in result.turns] + ([overall] if overall is not None else [])
    return any(score.value is None and score.outcome is None for score in scores)


def _allowed(names: Collection[str], known: list[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise TypeError("allow_no_score: a collection of names, not one text")
    for name in names:
        if name not in (STATUS, *known):
            raise ConfigError(f"allow_no_score: {name}: it can be {', '.join((STATUS, *known))}")
    return frozenset(names)


def _sample(conversation: ConversationInput, case: CaseInput | None, config: Config | None) -> Sample:
    log = one_conversation(conversation, config)
    if case is None:
        return Sample(log, CaseIndex(None).find(log), Record("conversation", 1, b""))
    held = one_case(case, config)
    if log.eval_id is None:
        log = msgspec.structs.replace(log, eval_id=held.eval_id, eval_set_id=held.eval_set_id)
    return Sample(log, CaseIndex([held]).find(log), Record("conversation", 1, b""))


def one_conversation(given: ConversationInput, config: Config | None) -> Conversation:
    """Returns the conversation of a path, record or object.

    Raises:
        ReadError: It cannot be read.
        ValueError: It holds no conversation, or several.
    """
    conversations = read_conversations(given, config=config)
    if len(conversations) != 1:
        raise ValueError(f"conversation: one is needed, and this holds {len(conversations)}")
    return conversations[0]


def one_case(given: CaseInput, config: Config | None) -> EvalCase:
    """Returns the eval case of a path, record or object; raises as `one_conversation` does."""
    cases = read_cases(given, config=config)
    if len(cases) != 1:
        raise ValueError(f"case: one is needed, and this holds {len(cases)}")
    return cases[0]


_ORDERED = ("EXACT", "IN_ORDER")


class ShownCall:
    """A call that is shown as `tool(parameter=value)`."""

    def __init__(self, call: ToolCall) -> None:
        arguments = (
            f"{name}={json.dumps(value, ensure_ascii=False, default=repr)}"
            for name, value in (call.args or {}).items()
        )
        self._text = f"{call.name or '?'}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShownCall) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class CallDifference(NamedTuple):
    """The calls that were made and expected somewhere, where they differ.

    An expected call that the criterion takes for met is shown as the call that meets it.

    Attributes:
        turn: 0-based turn; None: the whole conversation.
        made: Calls of the agent in order.
        expected: Expected calls, in order if it counts.
    """

    turn: int | None
    made: list[ShownCall]
    expected: list[ShownCall]


def call_differences(sample: Sample, compare: ToolTrajectory) -> list[CallDifference]:
    """Returns where the calls differ from the expected ones: turns in order, then the whole conversation.

    Args:
        sample: A conversation and its case.
        compare: Says which calls are as good as the expected ones, and whether their order counts.
    """
    turns = [
        _difference(
            pair.index,
            pair.expected.tool_calls if pair.expected else [],
            pair.actual.tool_calls if pair.actual else [],
            compare,
        )
        for pair in sample.pairs
        if (pair.expected.tool_calls is not None if pair.expected else pair.label is not None)
    ]
    actions = sample.eval_case.actions if sample.eval_case else None
    if actions is not None:
        made = [call for turn in sample.conversation.turns for call in turn.tool_calls]
        turns.append(_difference(None, actions, made, compare))
    return [of_turn for of_turn in turns if of_turn.made != of_turn.expected]


def _difference(
    turn: int | None, expected: Sequence[ToolCall] | None, made: Sequence[ToolCall], compare: ToolTrajectory
) -> CallDifference:
    wanted = expected or ()
    partners = compare.partners(wanted, made)
    places = list(range(len(wanted)))
    if compare.match_type not in _ORDERED:
        places.sort(key=lambda i: len(made) if (j := partners[i]) is None else j)
    shown = [ShownCall(call) for call in made]
    met = [ShownCall(wanted[i]) if (j := partners[i]) is None else shown[j] for i in places]
    return CallDifference(turn, shown, met)
