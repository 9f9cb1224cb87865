"""Questions, answers and the `Ask` protocol, through which criteria access models."""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from itertools import zip_longest
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from turnwise.schemas.config import Cascade, JudgeConfig, Panel
from turnwise.schemas.jsonio import JsonObject, fault_text
from turnwise.schemas.score import JudgeUse
from turnwise.transforms.judging.backends.base import Fault, one_line

_Reply = TypeVar("_Reply")

VerdictsOf = Callable[[_Reply], Sequence[Hashable | None]]
"""What an answer decides, item by item (a rubric, a sentence, the answer as a whole); None: it abstains."""


class Flips(NamedTuple):
    """Verdicts of one question, or of several.

    Attributes:
        voted: Verdicts with two votes or more.
        flipped: Those of them whose votes are not all the same; None: there is no verdict with two votes.
    """

    voted: int = 0
    flipped: int | None = None

    @property
    def rate(self) -> float | None:
        """Share of verdicts that flip, 0..1; None: no verdict has two votes."""
        return None if self.flipped is None else self.flipped / self.voted

    def plus(self, other: "Flips") -> "Flips":
        """Returns the verdicts of both."""
        known = [flips.flipped for flips in (self, other) if flips.flipped is not None]
        return Flips(self.voted + other.voted, sum(known) if known else None)


def votes_by_item(replies: Iterable[_Reply], verdicts: VerdictsOf[_Reply]) -> list[list[Hashable]]:
    """Returns the votes on every item, in the order of the answers, without abstentions.

    >>> votes_by_item(["yn", "yy", "-y"], lambda reply: [{"-": None}.get(vote, vote) for vote in reply])
    [['y', 'y'], ['n', 'y', 'y']]
    """
    columns = zip_longest(*map(verdicts, replies))
    return [[verdict for verdict in column if verdict is not None] for column in columns]


def flips_of(replies: Sequence[_Reply], verdicts: VerdictsOf[_Reply] | None) -> Flips:
    """Counts the verdicts of a question that flip between its usable answers.

    An answer from the cache is a vote like any other; an unusable answer is none, and an abstention neither.
    """
    if verdicts is None or len(replies) < 2:
        return Flips()
    voted = [votes for votes in votes_by_item(replies, verdicts) if len(votes) > 1]
    return Flips(len(voted), sum(len(set(votes)) > 1 for votes in voted) if voted else None)


NO_JUDGE = "no judge configured"
R = TypeVar("R", bound=BaseModel)
N = TypeVar("N", int, float)


class AdkOptions(BaseModel):
    """Base of google-adk's option objects: camelCase or snake_case per key, unknown keys are errors."""

    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
    )


class JudgeModelOptions(AdkOptions):
    """Model and number of samples of a judged criterion (google-adk's fields).

    Attributes:
        judge_model: Name of the model; None: the run's.
        judge_model_config: Generation settings in google-genai's JSON, over the run's; None: the run's.
        num_samples: Number of samples per question; the majority decides.
        panel: Models that vote on each question, in place of `judge_model`; (): none, or the run's.
        cascade: A cheap judge that is asked first; None: none, or the run's.
        parallelism_limit: Accepted and not used: the run's `--judge_concurrency` limits all calls together.

    >>> import turnwise
    >>> turnwise.JudgeModelOptions(judge_model="gemini-2.5-pro", num_samples=3).num_samples
    3
    """

    judge_model: str | None = None
    judge_model_config: JsonObject | None = None
    num_samples: int = Field(default=5, ge=1, strict=True)
    panel: Panel = Field(default=(), exclude_if=lambda panel: not panel)
    cascade: Cascade | None = Field(default=None, exclude_if=lambda cascade: cascade is None)
    parallelism_limit: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_or_several(self) -> "JudgeModelOptions":
        if self.panel and self.judge_model is not None:
            raise ValueError("judge_model and panel exclude each other")
        return self

    def within(self, run: JudgeConfig) -> "JudgeModelOptions":
        """Returns the options with the panel and the cascade of a run, unless they name models themselves."""
        names_models = self.judge_model is not None or bool(self.panel)
        panel = self.panel if names_models else run.panel
        cascade = self.cascade or (None if names_models else run.cascade)
        if not panel and cascade is None:
            return self
        model = None if panel else self.judge_model or run.model
        return self.model_copy(update={"judge_model": model, "panel": panel, "cascade": cascade})

    def without_others(self) -> "JudgeModelOptions":
        """Returns the options without a panel and a cascade, for a judge that asks no models."""
        if not self.panel and self.cascade is None:
            return self
        return self.model_copy(update={"panel": (), "cascade": None})

    def of_model(self, model: str | None, num_samples: int | None = None) -> "JudgeModelOptions":
        """Returns the options for one model alone, with its number of samples where it has its own."""
        samples = self.num_samples if num_samples is None else num_samples
        fields = {"judge_model": model, "num_samples": samples, "panel": (), "cascade": None}
        return self.model_copy(update=fields)

    def by_model(self) -> list["JudgeModelOptions"]:
        """Returns the options of every model that may be asked, that of the cascade first."""
        models: tuple[str | None, ...] = self.panel or (self.judge_model,)
        last = [self.of_model(model) for model in models]
        if self.cascade is None:
            return last
        return [self.of_model(self.cascade.model, self.cascade.num_samples), *last]


class Prompt(Struct, frozen=True):
    """A filled prompt.

    Attributes:
        version: Name and version, such as `final_response_match/1`.
        instructions: System instruction, the same for all evidence.
        evidence: User message: the delimited and neutralised texts.
        left_out: Number of characters omitted because of the length limits.
        unread: Number of omitted characters of judged texts.
    """

    version: str
    instructions: str
    evidence: str
    left_out: int = 0
    unread: int = 0


class Question(Struct, Generic[R], frozen=True):
    """A question to a judge.

    Attributes:
        reply_model: Schema of an answer; other answers are unusable.
        local: Computes the answer without a model; None: a model is required.
        verdicts: What an answer decides, item by item, None where it abstains; None: it is not known, so that
            verdicts that flip between votes are not counted.
        if_unsure: Whether it is only asked because a first judge is unsure.
        asks_again: Whether an unusable reply is asked for once more.

    >>> import turnwise
    >>> class Grade(turnwise.Reply):
    ...     grade: int
    >>> prompt = turnwise.fill("tone/1", "Grade the tone.", [turnwise.Section("answer", "Hello")])
    >>> turnwise.Question(prompt, Grade, turnwise.JudgeModelOptions()).prompt.version
    'tone/1'
    """

    prompt: Prompt
    reply_model: type[R]
    options: JudgeModelOptions
    local: Callable[[], R] | None = None
    verdicts: VerdictsOf[R] | None = None
    if_unsure: bool = False
    asks_again: bool = True


class JudgeSample(Struct, Generic[R], frozen=True):
    """One answer to a question.

    Attributes:
        reply: The answer; None: unusable.
        reason: Why it is unusable, one line; None: it is usable.
        tokens_in: Billed prompt tokens of this sample; 0 if cached; None: the API does not state them.
        tokens_out: Answer tokens, including thoughts; 0 if cached; None: the API does not state them.
        is_cached: Whether it was answered without a call.

    >>> import turnwise
    >>> turnwise.JudgeSample(None, reason="no answer within 60 s").reply is None
    True
    """

    reply: R | None
    reason: str | None = None
    model: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    is_cached: bool = False


def known_sum(numbers: Sequence[N | None]) -> N | None:
    """Returns the sum; None: one of the numbers is unknown.

    >>> known_sum([3, 4]), known_sum([3, None])
    (7, None)
    """
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


class Ask(Protocol):
    """Protocol of a judge.

    >>> import turnwise
    >>> async def ask(question, samples):
    ...     return [turnwise.JudgeSample(question.reply_model(grade=3)) for _ in samples]
    >>> asked: turnwise.Ask = ask
    """

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks a question once for every number in `samples`, all at once; returns the samples in order.

        A failed call or an invalid reply is an unusable sample with its reason; it raises nothing.
        """


class NotAsked:
    """Stands in for a judge that is not asked: there is none, or what it would be shown is not complete."""

    def __init__(self, reason: str = NO_JUDGE) -> None:
        self.reason = reason

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Returns unusable samples."""
        return [JudgeSample(None, self.reason)] * len(samples)


LEFT_OUT = "the judge's answer has no clear verdict on it"


class Answers(Struct, Generic[R]):
    """The answers to a question so far, including unusable ones."""

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
        version = self.question.prompt.version
        uses = [JudgeUse(s.model, version, 1, s.tokens_in, s.tokens_out, s.is_cached) for s in self.samples]
        use = sum_uses(uses)
        return use and replace(use, **flips_of(self.replies, self.question.verdicts)._asdict())

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
    """The votes on one item, with the first answer of either side."""

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


async def vote_each(
    ask: Ask, question: Question[R], votes: Callable[[R], Sequence[bool | None]], count: int
) -> Vote[R]:
    """Asks about `count` items at once until all are decided, `num_samples` times at most.

    A majority is as google-adk counts it: more for than against; a tie is against; unusable answers and
    abstentions (None) do not count. It asks in rounds of the smallest number of samples that could decide, so
    the outcome equals that of all samples.
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


_FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL | re.IGNORECASE)


def read_reply(text: str, reply_model: type[R]) -> R | Fault:
    """Returns the reply, or the reason why it is unusable: no JSON, JSON outside the schema, or a key twice.

    JSON in a Markdown fence is read too. `true` and `false` are no numbers. The reason names the first wrong
    field, and quotes nothing.
    """
    fenced = _FENCE.fullmatch(text)
    held = fenced.group(1) if fenced else text
    reply: R | None = None
    try:
        reply = reply_model.model_validate_json(held)
        twice: list[bool] = []
        # A key that an object states twice has two answers.
        json.loads(held, object_pairs_hook=lambda pairs: twice.append(len(dict(pairs)) < len(pairs)))
        if any(twice):
            return Fault("schema", "the reply states one key twice")
        # Pydantic takes `true` for 1 unless it is strict, where it also refuses what is clear, such as "3".
        reply_model.model_validate_json(held, strict=True)
        return reply
    except ValidationError as error:
        faults = zip(error.errors(include_input=False, include_url=False), error.errors(), strict=True)
        wrong = [fault for fault, whole in faults if reply is None or isinstance(whole["input"], bool)]
    if reply is not None and not wrong:
        return reply
    first = wrong[0]
    if first["type"] == "json_invalid":
        return Fault("json", "the reply is broken JSON")
    path = ".".join(str(part) for part in first["loc"]) or "the whole"
    return Fault("schema", one_line(f"the reply is outside the schema: {path}: {fault_text(first)}"))
