"""Selects the criteria of a conversation, samples the judged ones, and says where the log has gaps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from turnwise.schemas.config import STATUS, JudgeConfig, RedactConfig
from turnwise.schemas.conversation import Problem, Turn, turn_name
from turnwise.schemas.score import Failure, Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.criteria.ces import SemanticMatch
from turnwise.transforms.criteria.citations import found_problems
from turnwise.transforms.criteria.tool_effects import LeavesOpen
from turnwise.transforms.matching.sample import Sample, TurnPair

J = TypeVar("J", bound=JudgedCriterion)


class Criteria(NamedTuple):
    """The criteria of one conversation; see `Selection`, and `ScoredConversation` for what is sampled out."""

    measured: Sequence[MeasuredCriterion] = ()
    judged: Sequence[JudgedCriterion] = ()
    sampled_out: tuple[str, ...] = ()
    comparer: SemanticMatch | None = None
    redact: RedactConfig | None = None


class Selection(Struct, frozen=True):
    """The criteria of a run.

    Attributes:
        measured: Those that are computed.
        judged: Those that a judge is asked about, of every conversation.
        by_dialect: Dialect -> those that a judge is asked about, of conversations that are held against a
            case of that dialect.
        sample_rate: Share of conversations that are judged, 0..1, where a criterion names none of its own.
        comparer: Who is asked about values that measured criteria leave open; None: nobody.
        deciding: Dialect -> names of the judged criteria that take part in its verdict; in others, those with
            a threshold do.
        redact: What is hidden from the judge; None: nothing.
    """

    measured: tuple[MeasuredCriterion, ...]
    judged: tuple[JudgedCriterion, ...] = ()
    by_dialect: Mapping[str, tuple[JudgedCriterion, ...]] = field(default_factory=dict)
    sample_rate: float = 1.0
    comparer: SemanticMatch | None = None
    deciding: Mapping[str, frozenset[str]] = field(default_factory=dict)
    redact: RedactConfig | None = None

    @property
    def needs_judge(self) -> bool:
        """Whether a judge may be asked at all."""
        return bool(self.judged or self.of_dialects or self.comparer)

    @property
    def of_dialects(self) -> tuple[JudgedCriterion, ...]:
        """The judged criteria of all dialects."""
        return tuple(criterion for criteria in self.by_dialect.values() for criterion in criteria)

    def of(self, sample: Sample) -> Criteria:
        """Returns the criteria of a conversation; a hash of its case's id, or else its own, samples them."""
        case = sample.eval_case
        candidates = self.judged + (self.by_dialect.get(case.dialect, ()) if case is not None else ())
        if not candidates and self.comparer is None:
            return Criteria(self.measured)
        position = hash_place((case.eval_id if case else None) or sample.conversation.conversation_id)
        comparer = self.comparer if self.comparer and position < self._rate(self.comparer) else None
        asked = tuple(criterion for criterion in candidates if position < self._rate(criterion))
        left = [criterion for criterion in candidates if position >= self._rate(criterion)]
        names = self.deciding.get(case.dialect) if case else None
        decides = any(c.threshold is not None if names is None else c.name in names for c in left)
        sampled_out = (*(c.name for c in left), *((STATUS,) if decides else ()))
        return Criteria(self.measured, asked, sampled_out, comparer, self.redact)

    def _rate(self, criterion: JudgedCriterion) -> float:
        is_own = "sample_rate" in criterion.model_fields_set
        return criterion.sample_rate if is_own else self.sample_rate


def select(
    criteria: Sequence[Criterion],
    sample_rate: float = 1.0,
    by_dialect: Mapping[str, Sequence[JudgedCriterion]] | None = None,
    judge: JudgeConfig | None = None,
    asks_models: bool = True,
    has_judge: bool = True,
    redact: RedactConfig | None = None,
) -> Selection:
    """Sorts the criteria of a config; see `Selection` for `sample_rate` and `redact`.

    `by_dialect`: dialect -> the criteria that its cases are always judged by, unless the config has them.
    `judge`: the run's panel and cascade, which do not count unless it `asks_models`. Without `has_judge`,
    nobody is asked about what measured criteria leave open.
    """
    judge, by_dialect = judge or JudgeConfig(), by_dialect or {}
    names = {criterion.name for criterion in criteria}
    comparer = next((c for c in criteria if isinstance(c, SemanticMatch)), SemanticMatch())
    leaves_open = has_judge and any(isinstance(criterion, LeavesOpen) for criterion in criteria)
    return Selection(
        measured=tuple(c for c in criteria if isinstance(c, MeasuredCriterion)),
        judged=tuple(_asking(c, judge, asks_models) for c in criteria if isinstance(c, JudgedCriterion)),
        by_dialect={
            dialect: tuple(_asking(c, judge, asks_models) for c in defaults if c.name not in names)
            for dialect, defaults in by_dialect.items()
        },
        sample_rate=sample_rate,
        comparer=_asking(comparer, judge, asks_models) if leaves_open else None,
        deciding={key: frozenset(c.name for c in defaults) for key, defaults in by_dialect.items()},
        redact=redact,
    )


def _asking(criterion: J, judge: JudgeConfig, asks_models: bool) -> J:
    judge_options = criterion.judge_model_options
    options = judge_options.within(judge) if asks_models else judge_options.without_others()
    return criterion if options is judge_options else criterion.asking(options)


def hash_place(name: str) -> float:
    """Returns the place of an id in [0, 1), evenly spread and always the same."""
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


# Finds gaps that leave criteria without a score: incomplete logs and unread expectations.


def turn_gap(criterion: Criterion, sample: Sample, pair: TurnPair) -> str | None:
    """Returns why a criterion cannot score a turn; None: the log shows what it needs.

    A judge is shown the calls of earlier turns too. A criterion with google-adk's value misses nothing that
    google-adk does not look at.
    """
    if not sample.has_gaps:
        return None
    as_adk = criterion.as_adk
    if criterion.needs_expected_calls and (unread := _unread_of(pair, as_adk)):
        return unread
    if pair.actual is None:
        return None
    gap = _gap(pair.actual, criterion.rests_on, as_adk)
    if gap or "calls" not in criterion.rests_on or not isinstance(criterion, JudgedCriterion):
        return gap
    index = next(i for i, turn in enumerate(sample.conversation.turns) if turn is pair.actual)
    return _first(sample.conversation.turns[:index], ("calls",), as_adk)


def conversation_gap(criterion: Criterion, sample: Sample) -> str | None:
    """Returns why a criterion cannot score a conversation as a whole; None: the log shows what it needs."""
    if not sample.has_gaps:
        return None
    unread = next(_unread(sample, criterion.as_adk), None) if criterion.needs_expected_calls else None
    return unread or _first(sample.conversation.turns, criterion.rests_on, criterion.as_adk)


def gap_reasons(sample: Sample, as_adk: bool = False) -> list[str]:
    """Returns what the log does not show, one line a turn, and what of the expectations is not read."""
    if not sample.has_gaps:
        return []
    reasons = [sample.eval_case.not_found if sample.eval_case else None]
    reasons += [_first([turn], ("calls", "words"), as_adk) for turn in sample.conversation.turns]
    return [*(reason for reason in reasons if reason), *_unread(sample, as_adk)]


def _unread(sample: Sample, as_adk: bool) -> Iterator[str]:
    if sample.eval_case is not None and sample.eval_case.unread:
        yield sample.eval_case.unread
    for pair in sample.pairs:
        if unread := _unread_of(pair, as_adk):
            yield f"{turn_name(pair.index)}: {unread}"


def _unread_of(pair: TurnPair, as_adk: bool) -> str | None:
    expected = pair.expected
    return None if expected is None or (as_adk and expected.adk_reads) else expected.unread


def _first(turns: Iterable[Turn], parts: Sequence[str], as_adk: bool) -> str | None:
    gaps = ((turn.turn_index, _gap(turn, parts, as_adk)) for turn in turns)
    return next((f"{turn_name(index)}: {gap}" for index, gap in gaps if gap), None)


def _gap(turn: Turn, parts: Sequence[str], as_adk: bool) -> str | None:
    if as_adk and turn.adk_reads:
        return None
    calls = turn.unknown_calls if "calls" in parts else None
    return calls or (turn.unknown_words if "words" in parts else None)


def withheld(score: Score, reason: str, keeps_details: bool = False) -> Score:
    """Returns a score without its value; details are kept where they say what was not judged."""
    if not keeps_details:
        return Score(None, reason=reason, label=score.label)
    nothing = dict.fromkeys(("value", "explanation", "threshold", "outcome", "judge"))
    return replace(score, reason=reason, **nothing)


# Findings of a record, its eval case and its answers: problems that do not prevent scoring.

STAGE: Final = "check"
"""Stage of findings in the table of failures."""
UNREAD_EXPECTATION = "UnreadExpectation"
UNKNOWN_CASE = "UnknownCase"


def record_findings(sample: Sample) -> list[Failure]:
    """Returns what is found in a record, its case and its answers, one a turn (None: the whole) and kind."""
    problems: list[tuple[int | None, Problem]] = []
    for index, turn in enumerate(sample.conversation.turns):
        answer = turn.grounded
        of_answer = [*answer.problems, *found_problems(turn, answer)] if answer else []
        problems += [(index, problem) for problem in (*turn.findings, *of_answer)]
    case = sample.eval_case
    if case is not None and case.not_found:
        problems.append((None, Problem(UNKNOWN_CASE, case.not_found)))
    if case is not None and case.unread:
        problems.append((None, Problem(UNREAD_EXPECTATION, case.unread)))
    for pair in sample.pairs:
        if pair.expected is not None and pair.expected.unread:
            problems.append((pair.index, Problem(UNREAD_EXPECTATION, pair.expected.unread)))
    return [
        Failure(
            stage=STAGE,
            error_type=problem.kind,
            message=problem.message,
            source=sample.record.source,
            position=sample.record.position,
            conversation_id=sample.conversation.conversation_id,
            app_version=sample.conversation.app_version,
            turn_index=index,
        )
        for index, problem in problems
    ]
