"""Asserts that a conversation passes, and says why it does not."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.python import evaluate
from turnwise.pipeline.python.inputs import CaseInput, ConversationInput, ShownText
from turnwise.pipeline.python.testing.explanation import EXPLAINERS
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.conversation import Record, ToolCall, turn_name
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import unmet_turns
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.judging.backends.base import Backend
from turnwise.transforms.judging.judges import JudgeKind
from turnwise.transforms.matching.sample import CaseIndex, Sample, inline_case, packed_case
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring import evaluate as scoring
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, Verdict

_MOST_TURNS = 10
_T = TypeVar("_T")


def assert_conversation(
    conversation: ConversationInput,
    case: CaseInput | None = None,
    criteria: Mapping[str, Any] | None = None,
    *,
    config: evaluate.Config | None = None,
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
    settings = evaluate.settings_of(evaluate.Options(criteria, config, judge), case is not None)
    if isinstance(allow_no_score, str):
        raise TypeError("allow_no_score: a collection of names, not one text")
    known = (STATUS, *settings.criteria_names)
    for name in allow_no_score:
        if name not in known:
            raise ConfigError(f"allow_no_score: {name}: it can be {', '.join(known)}")
    kept: list[ScoredConversation] = []
    samples = [_sample(conversation, case, config)]
    evaluate.finished(evaluate.score_with_judge(samples, settings, kept.append, _raise))
    (scored,) = kept
    no_score, counting = list[CriterionScores](), list[CriterionScores]()
    for result in scored.scores:
        is_gate = result.criterion.threshold is not None
        lacks_score = is_gate and result.overall is not None and result.overall.outcome is None
        lacks_score |= any(score.value is None and score.outcome is None for _, score in result.scores())
        is_allowed = lacks_score and not result.errors and result.criterion.name in allow_no_score
        if (lacks_score or result.errors) and not is_allowed:
            no_score.append(result)
        if not is_allowed or _fails(result):
            counting.append(result)
    scored.scores = counting
    verdict = scoring.conversation_verdict(scored, RULES)
    gates = [result for result in scored.scores if result.criterion.threshold is not None]
    failed = [result for result in gates if result.overall and result.overall.outcome == "FAIL"]
    is_decided = verdict.status == "PASS" or (verdict.status is None and STATUS in allow_no_score)
    if failed or no_score or not is_decided:
        lines = _lines(scored, verdict, failed, no_score, settings.criteria)
        raise AssertionError("\n".join(map(printable, lines)))


def _raise(sample: Sample, error: BaseException) -> None:
    raise error


def _sample(logged: ConversationInput, case: CaseInput | None, config: evaluate.Config | None) -> Sample:
    (log,) = _only("conversation", evaluate.read_conversations(logged, config=config))
    record, index = Record("conversation", 1, b""), CaseIndex()
    if case is None:
        return Sample(log, inline_case(log), record)
    (given,) = _only("case", evaluate.read_cases(case, config=config))
    if log.eval_id is None:
        log = replace(log, eval_id=given.eval_id, eval_set_id=given.eval_set_id)
    index.add([packed_case(record, given)])
    return Sample(log, index.find(log), record)


def _only(what: str, read: list[_T]) -> list[_T]:
    if len(read) != 1:
        raise ValueError(f"{what}: one is needed, and this holds {len(read)}")
    return read


def _fails(result: CriterionScores) -> bool:
    return any(score.outcome == "FAIL" for _, score in result.scores())


def _lines(
    scored: ScoredConversation,
    verdict: Verdict,
    failed: Sequence[CriterionScores],
    no_score: Sequence[CriterionScores],
    criteria: Sequence[Criterion],
) -> Iterator[str]:
    sample = scored.sample
    held = f", eval case {sample.eval_case.eval_id}" if sample.eval_case else ""
    status = "FAIL" if failed or verdict.status == "FAIL" else "no verdict"
    yield f"conversation {sample.conversation.conversation_id}{held}: {status}"
    names = tuple(f"{result.criterion.name}: " for result in no_score)
    yield from (f"  {reason}" for reason in verdict.reasons if not reason.startswith(names))
    failing = failed or [r for r in scored.scores if status == "FAIL" and _fails(r)]
    for result in failing:
        yield from _criterion_lines(result, "FAIL")
    for result in no_score:
        if result not in failing:
            yield from _criterion_lines(result, None)
    if status == "FAIL" and sample.eval_case is not None and sample.eval_case.dialect == "ces":
        for turn, text in unmet_turns(scored, verdict):
            yield f"  {turn_name(sample.pairs[turn].index)}: {text}"
    for failure in scored.failures:
        if failure.stage == "score":
            at = "" if failure.turn_index is None else f" at {turn_name(failure.turn_index)}"
            yield f"  {failure.criterion} raised {failure.error_type}{at}: {failure.message}"
    if any(result.criterion.needs_expected_calls for result in failing) or (status == "FAIL" and not failing):
        yield from _call_lines(sample, criteria)


def _criterion_lines(result: CriterionScores, outcome: str | None) -> Iterator[str]:
    of_outcome = [(i, score) for i, score in result.turns if score.outcome == outcome]
    turns = [(i, score) for i, score in of_outcome if score.outcome == "FAIL" or score.value is None]
    overall = _score_text(result.criterion, result.overall or Score(None), has_reason=not turns)
    yield f"  {result.criterion.name}: {overall}"
    for index, score in turns[:_MOST_TURNS]:
        yield f"    {turn_name(index)}: {_score_text(result.criterion, score)}"
    if len(turns) > _MOST_TURNS:
        yield f"    and {len(turns) - _MOST_TURNS} more turns"


def _score_text(criterion: Criterion, score: Score, *, has_reason: bool = True) -> str:
    threshold = criterion.threshold if score.threshold is None else score.threshold
    unit = " s" if criterion.unit == "seconds" else ""
    value = "no score" if score.value is None else f"{score.value:.6g}{unit}"
    side = "at least" if criterion.gate == "at_least" else "at most"
    limit = "" if threshold is None else f", threshold {side} {threshold:g}{unit}"
    why = " ".join(text for text in (score.explanation, score.reason) if has_reason and text)
    return f"{value}{limit}{': ' if why else ''}{why}"


def _call_lines(sample: Sample, criteria: Sequence[Criterion]) -> Iterator[str]:
    """Yields where calls differ from the expected ones: turns in order, then the whole conversation."""
    kinds = [criterion for criterion in criteria if isinstance(criterion, ToolTrajectory)]
    compare = kinds[0] if kinds else ToolTrajectory()
    calls: list[tuple[str, Sequence[ToolCall], Sequence[ToolCall]]] = []
    for pair in sample.pairs:
        if pair.expected.tool_calls is not None if pair.expected else pair.label is not None:
            stated = (pair.expected.tool_calls if pair.expected else None) or ()
            calls.append((turn_name(pair.index), stated, pair.actual.tool_calls if pair.actual else ()))
    actions = sample.eval_case.actions if sample.eval_case else None
    if actions is not None:
        called = [call for turn in sample.conversation.turns for call in turn.tool_calls]
        calls.append(("the whole conversation", actions, called))
    differing: list[tuple[str, list[ShownText], list[ShownText]]] = []
    for where, expected, made in calls:
        # Those that are met stand as the call that meets them; in order, if it counts.
        partners = compare.partners(expected, made)
        places = list(range(len(expected)))
        if compare.match_type not in ("EXACT", "IN_ORDER"):
            order = [len(made) if j is None else j for j in partners]
            places.sort(key=order.__getitem__)
        shown = [_shown(call) for call in made]
        met = [_shown(expected[i]) if (j := partners[i]) is None else shown[j] for i in places]
        if shown != met:
            differing.append((where, shown, met))
    for where, shown, met in differing[:_MOST_TURNS]:
        yield f"  calls of {where}: made == expected"
        yield from (f"    {line}" for line in EXPLAINERS[-1](shown, met))


def _shown(call: ToolCall) -> ShownText:
    given = (call.args or {}).items()
    arguments = (f"{name}={json.dumps(value, ensure_ascii=False, default=repr)}" for name, value in given)
    return ShownText(f"{call.name or '?'}({', '.join(arguments)})")
