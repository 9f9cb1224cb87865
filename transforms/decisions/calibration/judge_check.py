"""Checks a judge: asks the questions of criteria again in other forms, and counts verdicts that change."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from statistics import median_low
from typing import Any, NamedTuple

from msgspec.structs import replace

from turnwise.schemas.calibration import CheckedCriterion, CheckFigure
from turnwise.schemas.config import RedactConfig
from turnwise.schemas.jsonio import grouped
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import NO_JUDGE, Ask, JudgeSample, Prompt, Question, votes_by_item
from turnwise.transforms.judging.prompts import Section, reworded_tasks, wording
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria
from turnwise.transforms.statistics.agreement import GroupSum, grouped_share_interval

# Collects the questions that judged criteria ask about a conversation, without asking them.


class CheckedQuestion(NamedTuple):
    """A question of a criterion, and the place of its conversation, whose questions are not independent."""

    criterion: str
    conversation: int
    question: Question[Any]


class AskedQuestions(NamedTuple):
    """What criteria ask about a conversation."""

    questions: dict[str, list[Question[Any]]]
    failures: list[Failure]


async def questions_about(
    sample: Sample, criteria: Sequence[JudgedCriterion], redact: RedactConfig | None = None
) -> AskedQuestions:
    """Returns the questions of criteria about a conversation, but none that depend on answers to others."""
    asked = AskedQuestions({}, [])
    questions: dict[Prompt, Question[Any]] = {}

    async def ask(question: Question[Any], samples: range) -> list[JudgeSample[Any]]:
        questions.setdefault(question.prompt, question)
        return [JudgeSample(None, NO_JUDGE)] * len(samples)

    for criterion in criteria:
        scored, asking = evaluate(sample, Criteria((), [criterion], redact=redact), ask)
        if asking is not None:
            await asking
        asked.failures.extend(failure for failure in scored.failures if failure.stage == "score")
        if questions:
            asked.questions[criterion.name] = list(questions.values())
            questions.clear()
    return asked


# Asks questions in all their forms, and compares the verdicts.

UNKNOWN_VERDICTS = "the criterion does not say what an answer decides"
LEFT_OUT = "answers leave it out"
TIED = "the votes are tied"


class Votes(NamedTuple):
    """The votes on a question in one form; `reason`: why votes are missing; None: no answer is unusable."""

    items: list[list[Hashable]]
    reason: str | None = None


class ChangedVerdicts(NamedTuple):
    """Whether a perturbation changed each measured verdict of a question; why others are not measured."""

    verdicts: list[bool]
    unmeasured: list[str]


async def vote_on(checked: CheckedQuestion, ask: Ask, number: int) -> dict[str, Votes]:
    """Asks a question so many times in each form that applies to it.

    Votes have numbers, so that none answers for another; those of a run with the same cache count.
    """
    question = checked.question
    asked = replace(question, options=question.options.model_copy(update={"num_samples": number}))
    prompts = {name: perturb(question.prompt) for name, perturb in PERTURBATIONS.items()}
    forms = {name: replace(asked, prompt=prompt) for name, prompt in prompts.items() if prompt}
    answers = await asyncio.gather(*(ask(form, range(number)) for form in forms.values()))
    votes = {}
    for name, samples in zip(forms, answers, strict=True):
        reason = next((sample.reason or "no answer" for sample in samples if sample.reply is None), None)
        replies = [sample.reply for sample in samples if sample.reply is not None]
        if question.verdicts is None:
            votes[name] = Votes([], reason or UNKNOWN_VERDICTS)
        else:
            votes[name] = Votes(votes_by_item(replies, question.verdicts), reason)
    return votes


def changes(base: Votes, other: Votes | None, number: int) -> ChangedVerdicts:
    """Compares the verdicts of two forms, or the votes of one, each asked so many times.

    A verdict is measured if all its votes are there. Without another form it changes if they are not all the
    same; else, if the two forms come to different verdicts. A question of which nothing is known counts as
    one verdict that is not measured.
    """
    changed = ChangedVerdicts([], [])
    forms = [base] if other is None else [base, other]
    reason = next((form.reason for form in forms if form.reason), LEFT_OUT)
    for index in range(max(1, *(len(form.items) for form in forms))):
        votes = [form.items[index] if index < len(form.items) else [] for form in forms]
        verdicts = votes[0] if other is None else [decided(vote) for vote in votes]
        if any(len(vote) < number for vote in votes):
            changed.unmeasured.append(reason)
        elif other is not None and None in verdicts:
            changed.unmeasured.append(TIED)
        else:
            changed.verdicts.append(len(set(verdicts)) > 1)
    return changed


def decided(votes: Sequence[Hashable]) -> Hashable:
    """Returns the verdict that votes come to: of grades the lower median, else the most frequent one.

    None: there is none, or several are equally frequent.
    """
    grades = [vote for vote in votes if isinstance(vote, int | float) and not isinstance(vote, bool)]
    if grades and len(grades) == len(votes):
        return median_low(grades)
    most = Counter(votes).most_common(2)
    is_tied = len(most) == 2 and most[0][1] == most[1][1]
    return most[0][0] if most and not is_tied else None


# Puts the same question in another form: sections in another order, instructions in other words.

_COMPARED = frozenset(("reference answer", "agent's answer", "expected answer", "actual answer"))
_KINDS = r"turn \d+, source|source|passage|rubric|aspect|expectation|expected answer|rule|pair"
_NUMBERED = re.compile(rf"({_KINDS}) (\d+)\b")
_UNNUMBERED = re.compile(r"(what the user knows$|turn \d+, words that the search attributes)")
_EXAMPLES = "\n\nExample ("


def sections_of(evidence: str) -> list[Section] | None:
    """Returns the sections of a filled prompt; None: it was not made by `fill`."""
    code = re.match(r"\[([0-9a-f]{8}): ", evidence)
    if code is None or not evidence.endswith(f"\n[{code[1]}: end]"):
        return None
    _, *parts = re.split(rf"^\[{code[1]}: ([^\n]*)\]$", evidence, flags=re.MULTILINE)
    return [Section(name, text[1:-1]) for name, text in zip(parts[:-2:2], parts[1:-2:2], strict=True)]


def reordered(prompt: Prompt) -> Prompt | None:
    """Returns a prompt whose interchangeable sections are in the opposite order, with their own names.

    Interchangeable are: the two answers that are compared; numbered rubrics, aspects, expectations, rules,
    pairs, passages and sources that follow each other. Turns, calls and the sentences of an answer are not:
    their order has a meaning. None: nothing in it can be reordered.
    """
    if (sections := sections_of(prompt.evidence)) is None:
        return None
    moved: list[Section] = []
    for kind, run in groupby(sections, key=_kind):
        if kind is None:
            moved += run
            continue
        numbers = ((_NUMBERED.match(section.name), section) for section in run)
        named = [(match[2] if match else index, section) for index, (match, section) in enumerate(numbers)]
        # Those with the same number stay together, in their order.
        units = [[section for _, section in unit] for _, unit in groupby(named, key=itemgetter(0))]
        moved += chain.from_iterable(units[::-1])
    if moved == sections:
        return None
    code = prompt.evidence[1:9]
    parts = [f"[{code}: {name}]\n{text}\n" for name, text in moved]
    return replace(prompt, evidence=f"{''.join(parts)}[{code}: end]")


def _kind(section: Section) -> str | None:
    """Returns the kind of an interchangeable section; None: its place has a meaning."""
    if section.name in _COMPARED:
        return "answer"
    match = _NUMBERED.match(section.name) or _UNNUMBERED.match(section.name)
    return match and match[1]


def reworded(prompt: Prompt) -> Prompt | None:
    """Returns a prompt with the same task and rules in other words; the material and examples stay.

    Of a criterion that is not turnwise's own, only the rules for reading the sections are reworded. None:
    there is no second wording of it.
    """
    words = prompt.instructions
    for name in reworded_tasks():
        task = wording(name).partition(_EXAMPLES)[0]
        if words.startswith(f"{task}\n\n"):
            words = wording(name, "reworded") + words[len(task) :]
    rules = wording("rules")
    if words.endswith(rules):
        words = words.removesuffix(rules) + wording("rules", "reworded")
    return None if words == prompt.instructions else replace(prompt, instructions=words)


PERTURBATIONS: dict[str, Callable[[Prompt], Prompt | None]] = {
    "repeat": lambda prompt: prompt,
    "swap": reordered,
    "paraphrase": reworded,
}
"""Name -> what makes the prompt; `repeat` asks the same again."""
_REPEAT = "repeat"


VotedQuestion = tuple[CheckedQuestion, Mapping[str, Votes]]
"""A question, and the votes on each of its forms by the name of the perturbation."""


def criterion_figures(
    names: Sequence[str], voted: Sequence[VotedQuestion], errors: Mapping[str, int], number: int
) -> Iterator[CheckedCriterion]:
    """Yields the figures of every judged criterion; one that asks nothing has none."""
    for name in names:
        questions = [(checked, votes) for checked, votes in voted if checked.criterion == name]
        figures: dict[str, CheckFigure | None] = {}
        for perturbation in PERTURBATIONS:
            compared = []
            for checked, votes in questions:
                if perturbation in votes:
                    other = None if perturbation == _REPEAT else votes[perturbation]
                    compared.append((checked.conversation, changes(votes[_REPEAT], other, number)))
            verdicts = [
                (conversation, is_changed) for conversation, made in compared for is_changed in made.verdicts
            ]
            groups = [GroupSum(len(group), sum(group)) for group in grouped(verdicts).values()]
            changed = sum(is_changed for _, is_changed in verdicts)
            figures[perturbation] = None
            if compared:
                figures[perturbation] = CheckFigure(
                    questions=len(compared),
                    verdicts=len(verdicts),
                    changed=changed,
                    share=changed / len(verdicts) if verdicts else None,
                    interval=grouped_share_interval(groups),
                    unmeasured=dict(Counter(why for _, made in compared for why in made.unmeasured)),
                )
        yield CheckedCriterion(
            criterion=name,
            conversations=len({checked.conversation for checked, _ in questions}),
            questions=len(questions),
            errors=errors.get(name, 0),
            **figures,
        )


def check_problems(criteria: Sequence[CheckedCriterion], max_flip: float | None) -> list[str]:
    """Returns why a check fails, one line each.

    It fails if nothing was measured of a criterion that asks, or of all; with a bound, also where a share
    exceeds it, or would if all that was not measured had changed, and where a criterion asks nothing.
    """
    is_asked = any(checked.questions for checked in criteria)
    problems = [] if is_asked else ["no judged criterion asks anything"]
    for checked in criteria:
        name = checked.criterion
        if checked.errors:
            problems.append(f"{name}: failed with an error {checked.errors} times; its questions are missing")
        elif not checked.questions and max_flip is not None:
            problems.append(f"{name}: it asks nothing about the sample, so the bound is not shown to hold")
        for perturbation in PERTURBATIONS:
            figure: CheckFigure | None = getattr(checked, perturbation)
            if figure is None:
                continue
            problem, missing = "", sum(figure.unmeasured.values())
            if figure.share is None:
                problem = f"nothing was measured: {next(iter(figure.unmeasured))}"
            elif max_flip is not None and figure.share > max_flip:
                counts = f"{figure.changed} of {figure.verdicts} verdicts change"
                problem = f"{counts} ({figure.share:.1%}), more than {max_flip:.1%}"
            elif max_flip is not None and (figure.changed + missing) / (figure.verdicts + missing) > max_flip:
                problem = (
                    f"{missing} verdicts were not measured; if they changed, more than {max_flip:.1%} would"
                )
            if problem:
                problems.append(f"{name}, {perturbation}: {problem}")
    return problems
