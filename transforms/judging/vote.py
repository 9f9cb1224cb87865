"""Asks a question several times and takes the majority."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Generic

from msgspec import Struct, field
from msgspec.structs import replace

from turnwise.schemas.score import JudgeUse
from turnwise.transforms.judging.ask import NO_JUDGE, Ask, JudgeSample, Question, R, known_sum
from turnwise.transforms.judging.flips import Flips, flips_of

LEFT_OUT = "the judge's answer leaves it out"


class Answers(Struct, Generic[R]):
    """The answers to a question so far.

    Attributes:
        question: The question.
        samples: All samples, including unusable ones.
    """

    question: Question[R]
    samples: list[JudgeSample[R]] = field(default_factory=list)

    @property
    def replies(self) -> list[R]:
        """The usable answers, in order."""
        return [sample.reply for sample in self.samples if sample.reply is not None]

    @property
    def reason(self) -> str:
        """Reason of the first unusable answer."""
        return next((s.reason or "no answer" for s in self.samples if s.reply is None), LEFT_OUT)

    @property
    def use(self) -> JudgeUse | None:
        """Usage of the judge; None: there is no judge."""
        if all(sample.reason == NO_JUDGE for sample in self.samples):
            return None
        return JudgeUse(
            model=next((sample.model for sample in self.samples if sample.model), ""),
            prompt_version=self.question.prompt.version,
            samples=len(self.samples),
            tokens_in=known_sum([sample.tokens_in for sample in self.samples]),
            tokens_out=known_sum([sample.tokens_out for sample in self.samples]),
            cached=sum(sample.is_cached for sample in self.samples),
            **flips_of(self.replies, self.question.verdicts)._asdict(),
        )

    async def more(self, ask: Ask, number: int) -> list[R]:
        """Asks that many times more and returns the usable ones of the new answers."""
        start = len(self.samples)
        new = await ask(self.question, range(start, start + number))
        self.samples += new
        return [sample.reply for sample in new if sample.reply is not None]


def sum_uses(uses: Sequence[JudgeUse | None]) -> JudgeUse | None:
    """Returns the usage of several questions or models for one score; None: none is stated.

    Model and prompt version are the first ones. Verdicts flip between the votes of one question and model;
    those of all are added up.
    """
    known = [use for use in uses if use is not None]
    if not known:
        return None
    return JudgeUse(
        model=next((use.model for use in known if use.model), ""),
        prompt_version=known[0].prompt_version,
        samples=sum(use.samples for use in known),
        tokens_in=known_sum([use.tokens_in for use in known]),
        tokens_out=known_sum([use.tokens_out for use in known]),
        cached=sum(use.cached for use in known),
        **reduce(Flips.plus, [Flips(use.voted, use.flipped) for use in known])._asdict(),
    )


class Ballot(Struct, Generic[R]):
    """The votes on one item.

    Attributes:
        first_positive: The first positive answer.
        first_negative: The first negative answer.
    """

    positives: int = 0
    negatives: int = 0
    first_positive: R | None = None
    first_negative: R | None = None

    @property
    def value(self) -> float | None:
        """1.0: majority; 0.0: no majority or a tie; None: no votes."""
        if not self.positives + self.negatives:
            return None
        return 1.0 if self.positives > self.negatives else 0.0

    @property
    def reply(self) -> R | None:
        """The first answer of the winning side; None: no votes."""
        return self.first_positive if self.value else self.first_negative

    def add(self, reply: R, is_positive: bool | None) -> None:
        """Counts one vote; None abstains."""
        if is_positive:
            self.positives += 1
            self.first_positive = self.first_positive or reply
        elif is_positive is not None:
            self.negatives += 1
            self.first_negative = self.first_negative or reply

    def votes_needed(self, remaining: int) -> int:
        """Returns the smallest number of `remaining` votes that could decide; 0: it is decided."""
        lead = self.positives - self.negatives
        if not remaining or lead > remaining or (self.negatives and -lead >= remaining):
            return 0
        return min((remaining - lead) // 2 + 1, max(1, (remaining + lead + 1) // 2))


class Vote(Struct, Generic[R]):
    """The votes on all items of a question."""

    ballots: list[Ballot[R]]
    answers: Answers[R]


async def vote(ask: Ask, question: Question[R], positive: Callable[[R], bool | None]) -> Vote[R]:
    """Asks until the majority is decided, `num_samples` times at most; see `vote_each`.

    Args:
        ask: The judge.
        question: The question.
        positive: Returns the vote of an answer; None: abstention.
    """
    return await vote_each(ask, question, lambda reply: [positive(reply)], 1)


async def vote_each(
    ask: Ask, question: Question[R], votes: Callable[[R], Sequence[bool | None]], count: int
) -> Vote[R]:
    """Asks about several items at once until all are decided, `num_samples` times at most.

    A majority is as google-adk counts it: more for than against; a tie is against; unusable answers and
    abstentions do not count. It asks in rounds of the smallest number of samples that could decide, so the
    outcome equals that of all samples.

    Args:
        ask: The judge.
        question: The question.
        votes: Returns the votes of an answer on all items, in order; None: abstention.
        count: Number of items.
    """
    ballots: list[Ballot[R]] = [Ballot() for _ in range(count)]
    answers: Answers[R] = Answers(replace(question, verdicts=votes))
    while True:
        remaining = question.options.num_samples - len(answers.samples)
        number = max((ballot.votes_needed(remaining) for ballot in ballots), default=0)
        if not number:
            return Vote(ballots, answers)
        for reply in await answers.more(ask, number):
            for ballot, is_positive in zip(ballots, votes(reply), strict=True):
                ballot.add(reply, is_positive)


async def ask_all(ask: Ask, question: Question[R]) -> Answers[R]:
    """Asks `num_samples` times at once, for answers that are no yes or no.

    >>> import asyncio, turnwise
    >>> class Grade(turnwise.Reply):
    ...     grade: int
    >>> async def ask(question, samples):
    ...     return [turnwise.JudgeSample(Grade(grade=number)) for number in samples]
    >>> prompt = turnwise.fill("tone/1", "Grade the tone.", [turnwise.Section("answer", "Hello")])
    >>> question = turnwise.Question(prompt, Grade, turnwise.JudgeModelOptions(num_samples=2))
    >>> asyncio.run(turnwise.ask_all(ask, question)).replies
    [Grade(grade=0), Grade(grade=1)]
    """
    answers: Answers[R] = Answers(question)
    await answers.more(ask, question.options.num_samples)
    return answers
