"""Asserts that a conversation passes, and says why it does not."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.python.evaluate import Config
from turnwise.pipeline.python.inputs import CaseInput, ConversationInput
from turnwise.pipeline.python.testing.check import Checked, call_differences, check_conversation
from turnwise.pipeline.python.testing.explanation import difference_lines
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import unmet_turns
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.judging.backends.base import Backend
from turnwise.transforms.judging.judges import JudgeKind
from turnwise.transforms.scoring.evaluate import CriterionScores

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
