"""Ways to ask for one judgement: keeping the answers, giving them again, and counting what would be asked."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import BaseModel, Field, create_model

from turnwise.schemas.conversation import ExpectedTurn, Problem, Turn, turn_name
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Failure, JudgeUse, Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion, check_score
from turnwise.transforms.criteria.citations import found_problems
from turnwise.transforms.judging.ask import (
    Ask,
    JudgeModelOptions,
    JudgeSample,
    Question,
    R,
    known_sum,
    sum_uses,
)
from turnwise.transforms.judging.limits import ANSWER_TOKENS, estimated_tokens
from turnwise.transforms.matching.sample import Sample, TurnPair

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

    def usage(self) -> dict[str, int | None]:
        """Returns the number of answers, how many of them were cached, and their tokens (None: unknown)."""
        samples = self.samples
        return {
            "samples": len(samples),
            "cached": sum(sample.is_cached for sample in samples),
            "tokens_in": known_sum([sample.tokens_in for sample in samples]),
            "tokens_out": known_sum([sample.tokens_out for sample in samples]),
        }

    def usable(self, question: Question[R]) -> list[JudgeSample[R]]:
        """Returns the usable answers to a question."""
        return [sample for sample in self.answers.get(_key(question), ()) if sample.reply is not None]

    @property
    def reply_models(self) -> set[type[BaseModel]]:
        """Schemas of the answers, as the criterion states them."""
        return {reply_model for _, _, reply_model in self.answers}

    @property
    def most(self) -> int:
        """The largest number of usable answers to one question."""
        counts = (sum(sample.reply is not None for sample in given) for given in self.answers.values())
        return max(counts, default=0)


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
    """Counts what a judge would have been asked that agrees with the recorded answers of another one.

    `figures` gets the answers (`calls`), and about how many tokens they and their prompts have.
    """

    async def asked(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        prompt, number = question.prompt, len(samples)
        tokens_in = number * estimated_tokens(prompt.instructions, prompt.evidence)
        figures.update(calls=number, tokens_in=tokens_in, tokens_out=number * ANSWER_TOKENS)
        return (recorded.usable(question)[:1] or [JudgeSample(None, _NONE)]) * number

    return asked


# The verdict of one judge on one question, so that those of several can be compared.

JudgeVerdict = Literal["PASS", "FAIL", "OTHER"]
"""OTHER: a value outside the scale, such as CES's -1 (no claim, unspecified)."""


def verdict_of(criterion: Criterion, score: Score | None) -> JudgeVerdict | None:
    """Decides a score and returns its verdict; None: it has none.

    It is the outcome by the threshold. Without a threshold a value passes from the middle of the scale
    upwards. A value that the criterion names as special is OTHER, whatever its outcome.

    Raises:
        TypeError: The value is no number, or the details hold what JSON cannot.
        ValueError: The value is outside the scale, or the outcome is impossible.
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


# A criterion as one model judges by it.

JudgeOnce: TypeAlias = Callable[[JudgedCriterion, Ask], Coroutine[Any, Any, Score | None]]
"""Scores one turn, or one conversation, by a criterion and a judge."""


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
        score = self.score
        return {
            "model": self.model,
            "verdict": self.verdict,
            "value": score.value if score else None,
            "reason": None if self.verdict else self.reason,
            "explanation": score.explanation if score else None,
            **self.recorded.usage(),
        }


async def ask_members(
    criterion: JudgedCriterion, options: Sequence[JudgeModelOptions], run: JudgeOnce, ask: Ask
) -> list[Member]:
    """Asks several models at once; raises what the criterion raised for one of them."""
    recorders = [Recorder(ask) for _ in options]
    pairs = list(zip(options, recorders, strict=True))
    asked = (caught(run, criterion.asking(member), recorder) for member, recorder in pairs)
    members = []
    for (member, recorder), score in zip(
        pairs, await asyncio.gather(*asked, return_exceptions=True), strict=True
    ):
        if isinstance(score, BaseException):
            raise score
        members.append(Member(member.judge_model or "", score, verdict_of(criterion, score), recorder))
    return members


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


def joint_use(model: str, members: Sequence[Member]) -> JudgeUse | None:
    """Returns the usage of several models for one score, under one name; None: none is stated."""
    use = sum_uses([member.score.judge for member in members if member.score])
    return use and replace(use, model=model)


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


# Finds gaps that leave criteria without a score: incomplete logs and unread expectations.


def turn_gap(criterion: Criterion, sample: Sample, pair: TurnPair) -> str | None:
    """Returns why a criterion cannot score a turn; None: the log shows what it needs.

    A judge is shown the calls of earlier turns too. A criterion with google-adk's value misses nothing that
    google-adk does not look at.
    """
    if not sample.has_gaps:
        return None
    as_adk = criterion.as_adk
    if criterion.needs_expected_calls and pair.expected is not None and _is_unread(pair.expected, as_adk):
        return pair.expected.unread
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
        if pair.expected is not None and _is_unread(pair.expected, as_adk):
            yield f"{turn_name(pair.index)}: {pair.expected.unread}"


def _is_unread(expected: ExpectedTurn, as_adk: bool) -> bool:
    return bool(expected.unread) and not (as_adk and expected.adk_reads)


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
    """Returns the findings of a record, its case and its answers.

    One row per turn and kind; findings on the whole conversation have no turn.
    """
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
