"""Cascades: a cheap judge is asked first, and where it is unsure, the question goes on."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.config import Cascade
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions
from turnwise.transforms.scoring.joint.confidence import Confident, confident_version, least_confidence
from turnwise.transforms.scoring.joint.members import Member, Run, joint_use
from turnwise.transforms.scoring.joint.panel import panel_score
from turnwise.transforms.scoring.joint.verdicts import verdict_of
from turnwise.transforms.scoring.panels import IfUnsure, OneAnswer, Recorder, Spared

CASCADE = "cascade"
"""Key in the details of a score that a cascade gave."""


class Doubt(NamedTuple):
    """Why a question goes on.

    Attributes:
        kind: It has no verdict, its answers differ or are too few, or it states too little confidence.
        reason: One line.
    """

    kind: Literal["unscored", "votes", "confidence"]
    reason: str


async def cascade_score(criterion: JudgedCriterion, cascade: Cascade, run: Run, ask: Ask) -> Score | None:
    """Asks a cheap judge, and the other one, which may be a panel, where that is unsure.

    Args:
        criterion: The criterion, with the cascade.
        cascade: The cheap judge.
        run: Scores by the criterion.
        ask: The judge.
    """
    first, *others = criterion.options.by_model()
    recorder = Recorder(Confident(ask) if cascade.min_confidence is not None else ask)
    cheap = criterion.asking(first)
    score = await run(cheap, recorder)
    if not recorder.answers or score is None:
        return score
    if score.judge and cascade.min_confidence is not None:
        score.judge.prompt_version = confident_version(score.judge.prompt_version, recorder.reply_models)
    member = Member(cascade.model, score, verdict_of(criterion, score), recorder)
    confidence = least_confidence(recorder.samples)
    doubt = await _doubt(cheap, cascade, run, member, confidence)
    detail: JsonObject = {"first": {**member.detail(), "confidence": confidence}}
    decided = score
    if doubt is None:
        detail |= {"decided_by": "first", "why": None, "unsure": None}
        detail["spared"] = await _spared(criterion, others, run, recorder)
    else:
        decided = await _later(criterion, others, run, IfUnsure(ask))
        detail |= {"decided_by": "second", "why": doubt.reason, "unsure": doubt.kind, "spared": None}
    last = ", ".join(own.judge_model or "" for own in others)
    both = [member] if decided is score else [member, Member(last, decided, None, recorder)]
    decided.judge = joint_use(f"{cascade.model} > {last}", both)
    decided.details = {**(decided.details or {}), CASCADE: detail}
    return decided


async def _later(
    criterion: JudgedCriterion, others: Sequence[JudgeModelOptions], run: Run, ask: Ask
) -> Score:
    if len(others) > 1:
        later = criterion.asking(criterion.options.model_copy(update={"cascade": None}))
        score = await panel_score(later, run, ask)
    else:
        score = await run(criterion.asking(others[0]), ask)
    return score or Score(None, reason="the second judge gave no score")


async def _doubt(
    criterion: JudgedCriterion, cascade: Cascade, run: Run, member: Member, confidence: float | None
) -> Doubt | None:
    if member.verdict is None:
        return Doubt("unscored", member.reason)
    fault = _missing(member.recorded, min(2, cascade.num_samples))
    if fault is not None:
        return Doubt("votes", fault)
    verdicts = {
        verdict_of(criterion, await run(criterion, OneAnswer(member.recorded, number)))
        for number in range(member.recorded.most)
    }
    if verdicts != {member.verdict}:
        return Doubt("votes", f"its {member.recorded.most} answers differ")
    needed = cascade.min_confidence
    if needed is not None and (confidence is None or confidence < needed):
        return Doubt("confidence", f"its confidence is {confidence}, and {needed} is needed")
    return None


def _missing(recorded: Recorder, needed: int) -> str | None:
    """Returns which answers to a question are missing; None: all are usable, and as many as are needed."""
    for given in recorded.answers.values():
        lost = [sample for sample in given if sample.reply is None]
        if lost:
            return f"{len(lost)} of its {len(given)} answers cannot be used: {lost[0].reason}"
        if len(given) < needed:
            return f"it gave {len(given)} answer, and {needed} are needed"
    return None


async def _spared(
    criterion: JudgedCriterion, options: Sequence[JudgeModelOptions], run: Run, recorded: Recorder
) -> JsonObject:
    """Returns what the other judge would have been asked at least, by model."""
    spared: JsonObject = {}
    for own in options:
        counted = Spared(recorded)
        await run(criterion.asking(own), counted)
        figures = {"calls": counted.calls, "tokens_in": counted.tokens_in, "tokens_out": counted.tokens_out}
        spared[own.judge_model or ""] = figures
    return spared
