"""Selects the criteria of a conversation, and samples the judged ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from statistics import median_low
from typing import Literal, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from turnwise.schemas.config import STATUS, Cascade, JudgeConfig, RedactConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.criteria.ces import SemanticMatch
from turnwise.transforms.criteria.tool_effects import LeavesOpen
from turnwise.transforms.judging.ask import LATER, Ask, NotAsked
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.panels import (
    JudgeOnce,
    Member,
    Recorder,
    ask_members,
    asked_otherwise,
    confident,
    confident_version,
    counting,
    joint_use,
    least_confidence,
    one_answer,
    verdict_of,
)

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
        if len(asked) == len(candidates):
            return Criteria(self.measured, asked, (), comparer, self.redact)
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
    judge = judge or JudgeConfig()
    names = {criterion.name for criterion in criteria}
    comparer = next((c for c in criteria if isinstance(c, SemanticMatch)), SemanticMatch())
    leaves_open = has_judge and any(isinstance(criterion, LeavesOpen) for criterion in criteria)
    return Selection(
        measured=tuple(c for c in criteria if isinstance(c, MeasuredCriterion)),
        judged=tuple(_asking(c, judge, asks_models) for c in criteria if isinstance(c, JudgedCriterion)),
        by_dialect={
            dialect: tuple(_asking(c, judge, asks_models) for c in defaults if c.name not in names)
            for dialect, defaults in (by_dialect or {}).items()
        },
        sample_rate=sample_rate,
        comparer=_asking(comparer, judge, asks_models) if leaves_open else None,
        deciding={
            dialect: frozenset(c.name for c in defaults) for dialect, defaults in (by_dialect or {}).items()
        },
        redact=redact,
    )


def _asking(criterion: J, judge: JudgeConfig, asks_models: bool) -> J:
    """Returns a criterion that asks by the prompts and the models of a run."""
    judge_options = criterion.judge_model_options
    options = judge_options.within(judge) if asks_models else judge_options.without_others()
    return criterion if options is judge_options else criterion.asking(options)


def hash_place(name: str) -> float:
    """Returns the place of an id in [0, 1), evenly spread and always the same."""
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


# Scores by a judged criterion and the models that it names.


async def joint_score(criterion: JudgedCriterion, run: JudgeOnce, ask: Ask) -> Score | None:
    """Scores by a criterion: by its model, its panel, or its cascade; raises what it raises."""
    options = criterion.judge_model_options
    if criterion.as_adk:
        ask = asked_otherwise(ask, asks_again=False)
    if options.cascade is not None:
        return await cascade_score(criterion, options.cascade, run, ask)
    return await panel_score(criterion, run, ask) if options.panel else await run(criterion, ask)


# Cascades: a cheap judge is asked first, and where it is unsure, the question goes on.

CASCADE = "cascade"
"""Key in the details of a score that a cascade gave."""


async def cascade_score(
    criterion: JudgedCriterion, cascade: Cascade, run: JudgeOnce, ask: Ask
) -> Score | None:
    """Asks a cheap judge, and the other one, which may be a panel, where that is unsure."""
    first, *others = criterion.options.by_model()
    recorder = Recorder(confident(ask) if cascade.min_confidence is not None else ask)
    cheap = criterion.asking(first)
    score = await run(cheap, recorder)
    if not recorder.answers or score is None:
        return score
    late = next((item.reason for item in recorder.samples if (item.reason or "").endswith(LATER)), None)
    if late is not None:  # whether the other judge is needed is not known before
        return Score(None, reason=late, judge=score.judge)
    if score.judge and cascade.min_confidence is not None:
        score.judge.prompt_version = confident_version(score.judge.prompt_version, recorder.reply_models)
    member = Member(cascade.model, score, verdict_of(criterion, score), recorder)
    confidence = least_confidence(recorder.samples)
    doubt = await _doubt(cheap, cascade, run, member, confidence)
    detail: JsonObject = {"first": {**member.detail(), "confidence": confidence}}
    decided, last = score, ", ".join(options.judge_model or "" for options in others)
    members = [member]
    if doubt is None:
        detail |= {"decided_by": "first", "why": None, "unsure": None}
        # What the other judge would have been asked at least, by model.
        detail["spared"] = {}
        for options in others:
            figures = Counter(calls=0, tokens_in=0, tokens_out=0)
            await run(criterion.asking(options), counting(figures, recorder))
            detail["spared"][options.judge_model or ""] = dict(figures)
    else:
        later, again = asked_otherwise(ask, if_unsure=True), None
        if len(others) > 1:
            panel = criterion.asking(criterion.options.model_copy(update={"cascade": None}))
            again = await panel_score(panel, run, later)
        else:
            again = await run(criterion.asking(others[0]), later)
        decided = again or Score(None, reason="the second judge gave no score")
        members.append(Member(last, decided, None, recorder))
        detail |= {"decided_by": "second", "why": doubt[1], "unsure": doubt[0], "spared": None}
    decided.judge = joint_use(f"{cascade.model} > {last}", members)
    decided.details = {**(decided.details or {}), CASCADE: detail}
    return decided


async def _doubt(
    criterion: JudgedCriterion, cascade: Cascade, run: JudgeOnce, member: Member, confidence: float | None
) -> tuple[Literal["no_score", "votes", "confidence"], str] | None:
    """Returns why a question goes on: no verdict, answers that differ or are too few, little confidence."""
    if member.verdict is None:
        return "no_score", member.reason
    recorded, needed = member.recorded, min(2, cascade.num_samples)
    for given in recorded.answers.values():
        unusable = [sample for sample in given if sample.reply is None]
        if unusable:
            fault = f"{len(unusable)} of its {len(given)} answers cannot be used: {unusable[0].reason}"
            return "votes", fault
        if len(given) < needed:
            return "votes", f"it gave {len(given)} answer, and {needed} are needed"
    verdicts = {
        verdict_of(criterion, await run(criterion, one_answer(recorded, number)))
        for number in range(recorded.most)
    }
    if verdicts != {member.verdict}:
        return "votes", f"its {recorded.most} answers differ"
    least = cascade.min_confidence
    if least is not None and (confidence is None or confidence < least):
        return "confidence", f"its confidence is {confidence}, and {least} is needed"
    return None


# Panels: several models vote on each question.

PANEL = "panel"
"""Key in the details of a score that a panel gave."""


async def panel_score(criterion: JudgedCriterion, run: JudgeOnce, ask: Ask) -> Score | None:
    """Asks every member of a panel and returns the score of the majority.

    More than half of the members must have a verdict, and more than half of those the same one; else it is
    no score, with the reason. The score is that of the member with the (lower) median value.
    """
    members = await ask_members(criterion, criterion.options.by_model(), run, ask)
    if not any(member.recorded.answers for member in members):
        return members[0].score
    verdict, fault = majority(members)
    agreeing = [member for member in members if member.verdict == verdict]
    if fault is None:
        # Of the majority, the score whose value is the lower median of all values, or nearest to it.
        values = [m.score.value for m in members if m.verdict and m.score and m.score.value is not None]
        middle = median_low(values) if values else 0.0
        scores = [member.score for member in agreeing if member.score]
        valued = [score for score in scores if score.value is not None]
        nearest = min(valued, key=lambda score: abs((score.value or 0.0) - middle), default=scores[0])
        score = replace(nearest)
    else:  # the criterion says which items are not judged
        score = await run(criterion, NotAsked(fault)) or Score(None)
        score = replace(score, value=None, outcome=None, threshold=None, label=None, reason=fault)
    voting = sum(member.verdict is not None for member in members)
    panel: JsonObject = {
        "verdict": verdict,
        "agreement": len(agreeing) / voting if verdict else None,
        "members": [member.detail() for member in members],
    }
    score.details = {**(score.details or {}), PANEL: panel}
    score.judge = joint_use(", ".join(member.model for member in members), members)
    return score


def majority(members: Sequence[Member]) -> tuple[str | None, str | None]:
    """Returns the verdict of a panel, or why it has none."""
    verdicts = Counter(member.verdict for member in members if member.verdict is not None)
    needed, usable = len(members) // 2 + 1, sum(verdicts.values())
    if usable < needed:
        models: dict[str, list[str]] = {}
        for member in members:
            if member.verdict is None:
                models.setdefault(member.reason, []).append(member.model)
        faults = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in models.items())
        gave = f"{usable} of {len(members)} members of the panel gave a verdict, {needed} are needed"
        return None, f"{gave}: {faults}"
    ((verdict, count),) = verdicts.most_common(1)
    if 2 * count > usable:
        return verdict, None
    votes = ", ".join(f"{number} {name}" for name, number in sorted(verdicts.items()))
    return None, f"the panel has no majority: {votes}"
