"""Scores one conversation for an assertion, asserts that it passes, and says why it does not."""

import difflib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from turnwise.pipeline.io.terminal import printable
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
from turnwise.schemas.conversation import Conversation, Record, ToolCall, turn_name
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import unmet_turns
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


# Asserts that a conversation passes, and says why it does not.

_MOST_TURNS = 10


def assert_conversation(
    conversation: ConversationInput,
    case: CaseInput | None = None,
    criteria: Mapping[str, Any] | None = None,
    *,
    config: Config | None = None,
    judge: str | Backend | JudgeKind | None = None,
    allow_no_score: Collection[str] = (),
) -> None:
    """Asserts that one conversation passes: as its verdict in a run, and by every criterion with a threshold.

    Args:
        conversation: A dict in any known log format, a `Conversation`, or the path of a file that holds one.
        case: The eval case that it is held against, in the same forms. A conversation that names another
            case is refused. None: what the conversation itself expects, or nothing.
        criteria: Name -> threshold, or a dict of the criterion's fields. None: those of the config.
        config: As for `turnwise.evaluate`.
        judge: As for `turnwise.evaluate`.
        allow_no_score: Names of criteria that may be without a value or outcome; `verdict`: the
            verdict. Everything else without a score or verdict fails.

    Raises:
        AssertionError: It fails, or a score or the verdict is missing; the message says why, criterion by
            criterion.
        ReadError: The conversation or the case cannot be read.
        LookupError: The conversation names another case.
        ConfigError: The config, a criterion or the judge is wrong; nothing was scored.
        ValueError: There is no conversation or case, or there are several.

    >>> from turnwise.testing import assert_conversation
    >>> turn = {"user": "Where is it?", "agent": "Soon.", "tool_calls": [{"name": "track"}]}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> case = {"eval_id": "order", "turns": [{"user": "Where is it?", "tool_calls": [{"name": "track"}]}]}
    >>> assert_conversation(log, case, {"tool_trajectory_avg_score": 1.0})
    """
    __tracebackhide__ = True
    checked = check_conversation(conversation, case, criteria, config, judge, allow_no_score)
    if not checked.is_passed:
        raise AssertionError(failure_text(checked))


def failure_text(checked: Checked) -> str:
    """Returns why a conversation does not pass, one line per criterion, turn and difference."""
    return "\n".join(printable(line) for line in _lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    sample = checked.scored.sample
    held = f", eval case {sample.eval_case.eval_id}" if sample.eval_case else ""
    status = "FAIL" if checked.failed or checked.verdict.status == "FAIL" else "no verdict"
    yield f"conversation {sample.conversation.conversation_id}{held}: {status}"
    names = tuple(f"{result.criterion.name}: " for result in checked.no_score)
    yield from (f"  {reason}" for reason in checked.verdict.reasons if not reason.startswith(names))
    failing = [result for result in checked.scored.scores if result in checked.failed]
    failing = failing or ([*_failing(checked)] if status == "FAIL" else [])
    for result in failing:
        yield from _criterion_lines(result, "FAIL")
    for result in checked.no_score:
        if result not in failing:
            yield from _criterion_lines(result, None)
    if status == "FAIL" and sample.eval_case is not None and sample.eval_case.dialect == "ces":
        yield from _unmet_lines(checked)
    for failure in checked.scored.failures:
        if failure.stage == "score":
            at = "" if failure.turn_index is None else f" at {turn_name(failure.turn_index)}"
            yield f"  {failure.criterion} raised {failure.error_type}{at}: {failure.message}"
    if any(result.criterion.needs_expected_calls for result in failing) or (status == "FAIL" and not failing):
        yield from _call_lines(checked)


def _failing(checked: Checked) -> Iterator[CriterionScores]:
    for result in checked.scored.scores:
        scores = [score for _, score in result.turns] + ([result.overall] if result.overall else [])
        if any(score.outcome == "FAIL" for score in scores):
            yield result


def _criterion_lines(result: CriterionScores, outcome: str | None) -> Iterator[str]:
    turns = [(i, score) for i, score in result.turns if score.outcome == outcome and _says_more(score)]
    why = "" if turns or result.overall is None else _why(result.overall)
    overall = result.overall or Score(None)
    yield f"  {result.criterion.name}: {_value_text(result.criterion, overall)}{why}"
    for index, score in turns[:_MOST_TURNS]:
        yield f"    {turn_name(index)}: {_value_text(result.criterion, score)}{_why(score)}"
    if len(turns) > _MOST_TURNS:
        yield f"    and {len(turns) - _MOST_TURNS} more turns"


def _unmet_lines(checked: Checked) -> Iterator[str]:
    for turn, text in unmet_turns(checked.scored, checked.verdict):
        yield f"  {turn_name(checked.scored.sample.pairs[turn].index)}: {text}"


def _says_more(score: Score) -> bool:
    return score.outcome == "FAIL" or score.value is None


def _value_text(criterion: Criterion, score: Score) -> str:
    threshold = criterion.threshold if score.threshold is None else score.threshold
    unit = " s" if criterion.unit == "seconds" else ""
    value = "no score" if score.value is None else f"{score.value:.6g}{unit}"
    side = "at least" if criterion.gate == "at_least" else "at most"
    return value if threshold is None else f"{value}, threshold {side} {threshold:g}{unit}"


def _why(score: Score) -> str:
    texts = [text for text in (score.explanation, score.reason) if text]
    return f": {' '.join(texts)}" if texts else ""


def _call_lines(checked: Checked) -> Iterator[str]:
    kinds = [criterion for criterion in checked.criteria if isinstance(criterion, ToolTrajectory)]
    compare = kinds[0] if kinds else ToolTrajectory()
    for difference in call_differences(checked.scored.sample, compare)[:_MOST_TURNS]:
        where = "the whole conversation" if difference.turn is None else turn_name(difference.turn)
        yield f"  calls of {where}: made == expected"
        yield from (f"    {line}" for line in difference_lines(difference.made, difference.expected))


# Explains the difference of two lists: as pytest does where its plugin is loaded, else by difflib.

Explain: TypeAlias = Callable[[Sequence[object], Sequence[object]], Sequence[str]]
"""Returns the lines about two lists that differ: what was made, and what was expected."""

EXPLAINERS: list[Explain] = []
"""The last one explains; the pytest plugin adds its own for the time of a session."""


def difference_lines(made: Sequence[object], expected: Sequence[object]) -> list[str]:
    """Returns the difference of two lists, line by line."""
    explain = EXPLAINERS[-1] if EXPLAINERS else _plain_lines
    return [*explain(made, expected)]


def _plain_lines(made: Sequence[object], expected: Sequence[object]) -> list[str]:
    lines = difflib.ndiff([f"{call!r}" for call in expected], [f"{call!r}" for call in made])
    return ["- expected, + made", *(line.rstrip("\n") for line in lines)]
