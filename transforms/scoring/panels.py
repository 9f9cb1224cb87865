"""Judgements by the models that a criterion names: one, a panel, or a cascade."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import lru_cache
from statistics import median_low
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import BaseModel, Field, create_model

from turnwise.schemas.config import Cascade
from turnwise.schemas.jsonio import JsonObject, grouped
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion, check_score
from turnwise.transforms.judging.ask import Ask, JudgeSample, NotAsked, Question, R, known_sum, sum_uses
from turnwise.transforms.judging.batches import LATER
from turnwise.transforms.judging.limits import ANSWER_TOKENS, estimated_tokens

JudgeOnce: TypeAlias = Callable[[JudgedCriterion, Ask], Coroutine[Any, Any, Score | None]]
"""Scores one turn, or one conversation, by a criterion and a judge."""
JudgeVerdict = Literal["PASS", "FAIL", "OTHER"]
"""OTHER: a value outside the scale, such as CES's -1 (no claim, unspecified)."""
Asked = tuple[str, str, type]
_NONE = "the judge gave no such answer"


def _key(question: Question[Any]) -> Asked:
    return question.prompt.instructions, question.prompt.evidence, question.reply_model


class Recorder(Struct):
    """Asks a judge, and keeps its answers to every question, usable or not."""

    ask: Ask
    answers: dict[Asked, list[JudgeSample[Any]]] = field(default_factory=dict)

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask."""
        given = await self.ask(question, samples)
        self.answers.setdefault(_key(question), []).extend(given)
        return given

    @property
    def samples(self) -> list[JudgeSample[Any]]:
        """All answers."""
        return [sample for given in self.answers.values() for sample in given]

    def usable(self, question: Question[R]) -> list[JudgeSample[R]]:
        """Returns the usable answers to a question."""
        return [sample for sample in self.answers.get(_key(question), ()) if sample.reply is not None]


class Member(Struct, frozen=True):
    """What one model said, which the config names `model`; score None: nothing applies."""

    model: str
    score: Score | None
    verdict: JudgeVerdict | None
    recorded: Recorder

    @property
    def reason(self) -> str:
        """Why it has no verdict."""
        return (self.score.reason if self.score else None) or "gives no verdict"

    def detail(self) -> JsonObject:
        """Returns what the details of a score say of it."""
        score, samples = self.score, self.recorded.samples
        return {
            "model": self.model,
            "verdict": self.verdict,
            "value": score.value if score else None,
            "reason": None if self.verdict else self.reason,
            "explanation": score.explanation if score else None,
            "samples": len(samples),
            "cached": sum(sample.is_cached for sample in samples),
            "tokens_in": known_sum([sample.tokens_in for sample in samples]),
            "tokens_out": known_sum([sample.tokens_out for sample in samples]),
        }


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
        reply_models = [reply_model for _, _, reply_model in recorder.answers]
        score.judge.prompt_version = confident_version(score.judge.prompt_version, reply_models)
    member = Member(cascade.model, score, verdict_of(criterion, score), recorder)
    confidence = least_confidence(recorder.samples)
    doubt = await _doubt(cheap, cascade, run, member, confidence)
    detail: JsonObject = {"first": {**member.detail(), "confidence": confidence}}
    last = ", ".join(options.judge_model or "" for options in others)
    decided, members = score, [member]
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
    use = sum_uses([member.score.judge for member in members if member.score])
    decided.judge = use and replace(use, model=f"{cascade.model} > {last}")
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
    most = max(map(len, recorded.answers.values()))
    verdicts = {
        verdict_of(criterion, await run(criterion, one_answer(recorded, number))) for number in range(most)
    }
    if verdicts != {member.verdict}:
        return "votes", f"its {most} answers differ"
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
    members = []
    recorded = [(options, Recorder(ask)) for options in criterion.options.by_model()]
    asked = (caught(run, criterion.asking(options), recorder) for options, recorder in recorded)
    results = await asyncio.gather(*asked, return_exceptions=True)
    for (options, recorder), given in zip(recorded, results, strict=True):
        if isinstance(given, BaseException):
            raise given
        members.append(Member(options.judge_model or "", given, verdict_of(criterion, given), recorder))
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
    use = sum_uses([member.score.judge for member in members if member.score])
    score.judge = use and replace(use, model=", ".join(member.model for member in members))
    return score


def majority(members: Sequence[Member]) -> tuple[str | None, str | None]:
    """Returns the verdict of a panel, or why it has none."""
    verdicts = Counter(member.verdict for member in members if member.verdict is not None)
    needed, usable = len(members) // 2 + 1, sum(verdicts.values())
    if usable < needed:
        silent = (member for member in members if member.verdict is None)
        models = grouped((member.reason, member.model) for member in silent)
        faults = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in models.items())
        gave = f"{usable} of {len(members)} members of the panel gave a verdict, {needed} are needed"
        return None, f"{gave}: {faults}"
    ((verdict, count),) = verdicts.most_common(1)
    if 2 * count > usable:
        return verdict, None
    votes = ", ".join(f"{number} {name}" for name, number in sorted(verdicts.items()))
    return None, f"the panel has no majority: {votes}"


def one_answer(recorded: Recorder, number: int) -> Ask:
    """Gives the usable answer of that number (the last, at most) again, as the first sample."""

    async def asked(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        usable = recorded.usable(question)
        given: list[JudgeSample[R]] = [JudgeSample(None, _NONE) for _ in samples]
        if usable and 0 in samples:
            given[samples.index(0)] = usable[min(number, len(usable) - 1)]
        return given

    return asked


def asked_otherwise(ask: Ask, **changes: bool) -> Ask:
    """Asks changed questions: such that another judge was unsure of, or without a second try."""

    async def asked(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        return await ask(replace(question, **changes), samples)

    return asked


def counting(figures: Counter[str], recorded: Recorder) -> Ask:
    """Counts in `figures` the `calls` and about the tokens of a judge that agrees with recorded answers."""

    async def asked(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        prompt, number = question.prompt, len(samples)
        tokens_in = number * estimated_tokens(prompt.instructions, prompt.evidence)
        figures.update(calls=number, tokens_in=tokens_in, tokens_out=number * ANSWER_TOKENS)
        return (recorded.usable(question)[:1] or [JudgeSample(None, _NONE)]) * number

    return asked


def verdict_of(criterion: Criterion, score: Score | None) -> JudgeVerdict | None:
    """Decides a score and returns its verdict; None: it has none.

    It is the outcome by the threshold. Without a threshold a value passes from the middle of the scale
    upwards. A value that the criterion names as special is OTHER. Raises what `check_score` raises.
    """
    if score is None:
        return None
    check_score(criterion, score)
    criterion.gated(score)
    if score.value is None:
        return "FAIL" if score.outcome == "FAIL" else None
    if score.value in criterion.special_values:
        return "OTHER"
    if score.outcome == "PASS" or score.outcome == "FAIL":
        return score.outcome
    if criterion.scale is None:
        return None
    is_high = score.value >= sum(criterion.scale) / 2
    return "PASS" if is_high == (criterion.gate == "at_least") else "FAIL"


async def caught(
    ask: Callable[..., Coroutine[Any, Any, Score | None]], *arguments: Any
) -> Score | SystemExit | None:
    """Asks, and returns a SystemExit in place of raising it: raised in a task it ends the event loop.

    The question is made here, so that a task that is cancelled before it begins leaves none behind.
    """
    try:
        return await ask(*arguments)
    except SystemExit as error:
        return error


# Answers that state how sure the judge is.

_NAME = "confidence"
_WORDS = (
    "Last, state in `confidence` how sure you are of your verdict, from 0 to 100: of a hundred answers with "
    "this figure, so many are right. Where there are several verdicts, state it for the least certain one."
)


def confident(ask: Ask) -> Ask:
    """Asks a judge that is to state its confidence with every answer; one without it is unusable.

    The prompt's version then ends with `+confidence`, so that its replies are cached apart. Answers of a
    plugin that have a confidence of their own stay as they are.
    """

    async def asked(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        if _NAME in question.reply_model.model_fields:
            return await ask(question, samples)
        version = confident_version(question.prompt.version, [question.reply_model])
        instructions = f"{question.prompt.instructions}\n\n{_WORDS}"
        prompt = replace(question.prompt, version=version, instructions=instructions)
        reply_model = with_confidence(question.reply_model)
        return await ask(replace(question, prompt=prompt, reply_model=reply_model), samples)

    return asked


def confident_version(version: str, reply_models: Iterable[type[BaseModel]]) -> str:
    """Returns the version of a prompt that asks for the confidence; of answers with their own, as it is."""
    is_asked = any(_NAME not in reply_model.model_fields for reply_model in reply_models)
    return f"{version}+{_NAME}" if is_asked else version


@lru_cache(maxsize=256)
def with_confidence(reply_model: type[R]) -> type[R]:
    """Returns a schema with the field `confidence`, 0 to 100, at its end."""
    about = Field(ge=0, le=100, description="How sure the verdict is, from 0 to 100.")
    return create_model(reply_model.__name__, __base__=reply_model, confidence=(int, about))


def least_confidence(samples: Sequence[JudgeSample[Any]]) -> float | None:
    """Returns the least confidence that the usable answers state; None: they state none."""
    stated = [getattr(sample.reply, _NAME, None) for sample in samples if sample.reply is not None]
    known = [number for number in stated if isinstance(number, int | float)]
    return min(known) if known and len(known) == len(stated) else None
