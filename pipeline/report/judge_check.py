"""Checks a judge: draws conversations, estimates, asks, computes, and shows the result."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappush, heapreplace
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.io.terminal import aligned, complain, counted, printable
from turnwise.pipeline.python.evaluate import Collected
from turnwise.pipeline.python.inputs import sort_inputs
from turnwise.pipeline.report.terminal import money_text
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.schemas.calibration import CheckCost, CheckedCriterion, CheckFigure, JudgeCheck
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation
from turnwise.transforms.decisions.calibration.judge_check import (
    PERTURBATIONS,
    AskedQuestions,
    CheckedQuestion,
    VotedQuestion,
    check_problems,
    criterion_figures,
    questions_about,
    vote_on,
)
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.limits import total_cost
from turnwise.transforms.judging.routes import JUDGING
from turnwise.transforms.judging.setup import WAITING, JudgeSettings, JudgeWorker
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.selection import Selection, hash_place

# A check of a judge as text.

_NOT_APPLICABLE = "n/a"


def _cost(cost: CheckCost) -> str:
    if cost.tokens_in is None or cost.tokens_out is None:
        tokens = "an unknown number of tokens"
    else:
        tokens = f"{cost.tokens_in:,} + {cost.tokens_out:,} tokens"
    money = "cost unknown (a model has no price, or did not state its tokens)"
    if cost.cost is not None:
        money = f"{money_text(cost.cost)} at the prices of the config"
    return f"{cost.calls:,} calls, {tokens}, {money}"


def check_text(check: JudgeCheck) -> str:
    """Returns the table by criterion, what was not measured, and what was used."""
    lines = [["criterion", "questions", *PERTURBATIONS], *map(_row, check.criteria)]
    table = aligned([[printable(cell) for cell in line] for line in lines])
    notes = [note for checked in check.criteria for note in _notes(checked)]
    used = [f"used: {_cost(check.used)}"] if check.used else []
    return "\n".join(
        ["share of verdicts that change (95 % interval; changed of measured)", *table, *notes, *used]
    )


def _row(criterion: CheckedCriterion) -> list[str]:
    figures = (getattr(criterion, name) for name in PERTURBATIONS)
    cells = [_cell(figure) if criterion.questions else "no question" for figure in figures]
    return [criterion.criterion, str(criterion.questions), *cells]


def _cell(figure: CheckFigure | None) -> str:
    if figure is None:
        return _NOT_APPLICABLE
    if figure.share is None or figure.interval is None:
        return "not measured"
    low, high = figure.interval.low, figure.interval.high
    return f"{figure.share:.1%} ({low:.1%} to {high:.1%}; {figure.changed} of {figure.verdicts})"


def _notes(criterion: CheckedCriterion) -> Iterator[str]:
    """Yields what was not measured, and the questions that a perturbation does not apply to."""
    for name in PERTURBATIONS:
        figure: CheckFigure | None = getattr(criterion, name)
        if figure is None:
            continue
        start = f"{criterion.criterion}, {name}:"
        for reason, count in figure.unmeasured.items():
            yield printable(f"{start} {counted(count, 'verdict')} not measured: {reason}")
        if figure.questions < criterion.questions:
            left = criterion.questions - figure.questions
            yield f"{start} n/a for {counted(left, 'question')}"


class Drawn(NamedTuple):
    """A sample of conversations.

    Attributes:
        errors: Criterion -> how often it failed with an error about them.
        records_rejected: Records and conversations that could not be read, parsed or matched.
    """

    questions: list[CheckedQuestion]
    conversations: int
    errors: dict[str, int]
    records_rejected: int


_DrawnConversation = tuple[float, int, AskedQuestions]
"""Minus its hash, minus its number, what is asked; the first two decide which goes when another one comes."""


def draw(settings: RunSettings, size: int, seed: int) -> Drawn:
    """Draws conversations about which something is asked, by a hash of seed, id and app version.

    Raises:
        ConfigError: A path names nothing.
    """
    collected = Collected(settings)
    logs = sort_inputs("--input", settings.input, Conversation)
    cases = sort_inputs("--eval_cases", settings.eval_cases, EvalCase) if settings.eval_cases else None
    kept = asyncio.run(_kept(collected.samples(logs, cases), settings.selection, size, seed))
    rejected = sum(row["stage"] != "check" for row in collected.result({}).failures)
    errors = Counter(failure.criterion or "" for drawn_sample in kept for failure in drawn_sample.failures)
    questions: dict[object, CheckedQuestion] = {}
    for index, drawn_sample in enumerate(kept):
        for name, asked in drawn_sample.questions.items():
            for question in asked:
                questions.setdefault((name, question.prompt), CheckedQuestion(name, index, question))
    return Drawn(list(questions.values()), len(kept), dict(errors), rejected)


async def _kept(
    samples: Iterable[Sample], selection: Selection, size: int, seed: int
) -> list[AskedQuestions]:
    """Returns the conversations with the lowest hashes, lowest first."""
    heap: list[_DrawnConversation] = []
    for number, sample in enumerate(samples):
        conversation = sample.conversation
        named = f"{seed}\0{conversation.conversation_id}\0{conversation.app_version or ''}"
        position = hash_place(named)
        if len(heap) == size and position >= -heap[0][0]:
            continue
        drawn_sample = await questions_about(sample, selection.of(sample).judged, selection.redact)
        if drawn_sample.questions or drawn_sample.failures:
            add = heappush if len(heap) < size else heapreplace
            add(heap, (-position, -number, drawn_sample))
    return [drawn_sample for _, _, drawn_sample in sorted(heap, key=lambda entry: entry[:2], reverse=True)]


ONE_MODEL = "judge-check checks one model: name it with --judge_model"
NOT_ASKED = "nothing was asked, so nothing is measured; --yes asks"


class CheckOptions(Struct, frozen=True):
    """How a judge is checked.

    Attributes:
        votes: How often each question is asked in each form; odd, at least 3.
        max_flip: Largest share of verdicts that may change, 0..1; None: there is no bound.
        yes: Whether the judge is asked, and not only the cost estimated.
    """

    votes: int
    sample: int
    seed: int
    max_flip: float | None
    yes: bool


def checked(settings: RunSettings, options: CheckOptions, tell: Callable[[str], None]) -> JudgeCheck:
    """Checks the judge of the settings; `tell` takes a line with the cost before anything is asked.

    Raises:
        ConfigError: The judge has no model, or several for one criterion; it cannot work or is refused; a
            path names nothing.
    """
    kind = settings.judge.kind
    if not kind.connect:
        raise ConfigError(f"judge-check needs a judge with a model; the judge is {kind.name} (see --judge)")
    config, selection = settings.judge.config, settings.selection
    asked = (*selection.judged, *selection.of_dialects)
    if config.panel or config.cascade or any(len(question.options.by_model()) > 1 for question in asked):
        raise ConfigError(ONE_MODEL)
    drawn = draw(settings, options.sample, options.seed)
    estimate = vote_on_all(drawn.questions, replace(settings.judge, only_estimates=True), options.votes)[1]
    check = JudgeCheck(
        model=", ".join(dict.fromkeys(settings.judged_models)) or settings.judge.config.model,
        votes=options.votes,
        sample=options.sample,
        seed=options.seed,
        conversations=drawn.conversations,
        records_rejected=drawn.records_rejected,
        estimate=estimate,
        used=None,
        criteria=[],
        problems=[NOT_ASKED] if drawn.questions else check_problems([], options.max_flip),
    )
    about = (
        f"{counted(len(drawn.questions), 'question')} about {counted(drawn.conversations, 'conversation')}"
    )
    tell(f"estimate: {about}, {options.votes} votes a form: about {_cost(estimate)}")
    if not options.yes:
        return check
    try_judge(settings)
    voted, used = vote_on_all(drawn.questions, settings.judge, options.votes)
    stated = [criterion.name for criterion in settings.selection.judged]
    names = dict.fromkeys([*stated, *(question.criterion for question in drawn.questions), *drawn.errors])
    figures = criterion_figures([*names], voted, drawn.errors, options.votes)
    return replace(check, used=used, criteria=figures, problems=check_problems(figures, options.max_flip))


def vote_on_all(
    questions: Sequence[CheckedQuestion], judge: JudgeSettings, number: int
) -> tuple[list[VotedQuestion], CheckCost]:
    """Asks every question so many times in each of its forms, within the limits of the judge.

    Raises:
        ConfigError: The judge cannot be made, or its credentials are refused.
        Interrupted: A signal ended it; replies that were in flight are in the cache.
    """
    worker = JudgeWorker(judge, os.environ)
    try:
        with interrupted_by_signal():
            voted = _answered(worker, questions, number)
    except Interrupted as signal:
        raise Interrupted(signal.number, kept="") from None
    usage = worker.counts.take()
    prices = judge.config.prices
    is_counted = not any(used.uncounted for used in usage.values())
    return voted, CheckCost(
        calls=sum(used.calls for used in usage.values()),
        tokens_in=sum(used.tokens_in for used in usage.values()) if is_counted else None,
        tokens_out=sum(used.tokens_out for used in usage.values()) if is_counted else None,
        cost=total_cost(usage, prices),
    )


def _answered(worker: JudgeWorker, questions: Sequence[CheckedQuestion], number: int) -> list[VotedQuestion]:
    try:
        return worker.submit(_all(questions, worker.ask, number)).result()
    except AuthenticationError:
        worker.close()  # what is in flight is refused, too: nobody is told to wait for it
        raise
    finally:
        if JUDGING.asking:
            complain(WAITING)
        worker.close()


async def _all(questions: Sequence[CheckedQuestion], ask: Ask, number: int) -> list[VotedQuestion]:
    votes = await asyncio.gather(*(vote_on(question, ask, number) for question in questions))
    return [VotedQuestion(question, vote) for question, vote in zip(questions, votes, strict=True)]
