"""Asks questions in all their forms, and compares the verdicts."""

import asyncio
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import median_low
from typing import Any, NamedTuple

from msgspec.structs import replace

from turnwise.transforms.judge_check.perturbed import PERTURBATIONS
from turnwise.transforms.judge_check.questions import CheckedQuestion
from turnwise.transforms.judging.ask import Ask, Question, votes_by_item

UNKNOWN_VERDICTS = "the criterion does not say what an answer decides"
LEFT_OUT = "answers leave it out"
TIED = "the votes are tied"


class Votes(NamedTuple):
    """The votes on a question in one form.

    Attributes:
        items: The votes on each item.
        reason: Why votes are missing; None: no answer is unusable.
    """

    items: list[list[Hashable]]
    reason: str | None = None


class ChangedVerdicts(NamedTuple):
    """What one perturbation did to the verdicts of a question.

    Attributes:
        verdicts: Whether each measured verdict changed.
        unmeasured: Why the others are not measured, one entry each.
    """

    verdicts: list[bool]
    unmeasured: list[str]


def forms_of(question: Question[Any], number: int) -> dict[str, Question[Any]]:
    """Returns a question in all forms that apply to it, each to be asked so many times."""
    options = question.options.model_copy(update={"num_samples": number})
    prompts = {name: perturb(question.prompt) for name, perturb in PERTURBATIONS.items()}
    return {
        name: replace(question, prompt=prompt, options=options) for name, prompt in prompts.items() if prompt
    }


async def vote_on(checked: CheckedQuestion, ask: Ask, number: int) -> dict[str, Votes]:
    """Asks a question so many times in each form that applies to it.

    Votes have numbers, so that none answers for another; those of a run with the same cache count.
    """
    forms = forms_of(checked.question, number)
    votes = await asyncio.gather(*(_votes(form, ask, number) for form in forms.values()))
    return dict(zip(forms, votes, strict=True))


async def _votes(question: Question[Any], ask: Ask, number: int) -> Votes:
    samples = await ask(question, range(number))
    reason = next((sample.reason or "no answer" for sample in samples if sample.reply is None), None)
    if question.verdicts is None:
        return Votes([], reason or UNKNOWN_VERDICTS)
    replies = [sample.reply for sample in samples if sample.reply is not None]
    return Votes(votes_by_item(replies, question.verdicts), reason)


def changes(base: Votes, other: Votes | None, number: int) -> ChangedVerdicts:
    """Compares the verdicts of two forms, or the votes of one.

    A verdict is measured if all its votes are there. Without another form it changes if they are not all the
    same; else, if the two forms come to different verdicts. A question of which nothing is known counts as
    one verdict that is not measured.

    Args:
        base: The votes on the question as it is.
        other: The votes on its other form; None: `base` is compared with itself.
        number: How often each form was asked.
    """
    found = ChangedVerdicts([], [])
    forms = [base] if other is None else [base, other]
    reason = next((form.reason for form in forms if form.reason), LEFT_OUT)
    for place in range(max(1, *(len(form.items) for form in forms))):
        votes = [form.items[place] if place < len(form.items) else [] for form in forms]
        if any(len(each) < number for each in votes):
            found.unmeasured.append(reason)
        elif other is None:
            found.verdicts.append(len(set(base.items[place])) > 1)
        else:
            verdicts = [decided(each) for each in votes]
            if None in verdicts:
                found.unmeasured.append(TIED)
            else:
                found.verdicts.append(verdicts[0] != verdicts[1])
    return found


def decided(votes: Sequence[Hashable]) -> Hashable:
    """Returns the verdict that votes come to: of grades the lower median, else the most frequent one.

    Returns:
        The verdict; None: there is none, or several are equally frequent.
    """
    grades = [vote for vote in votes if isinstance(vote, int | float) and not isinstance(vote, bool)]
    if grades and len(grades) == len(votes):
        return median_low(grades)
    most = Counter(votes).most_common(2)
    if not most or (len(most) == 2 and most[0][1] == most[1][1]):
        return None
    return most[0][0]
