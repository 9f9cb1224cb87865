"""Questions, answers and the `Ask` protocol, through which criteria access models."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from turnwise.schemas.config import Cascade, JudgeConfig, Panel
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.flips import VerdictsOf

NO_JUDGE = "no judge configured"
R = TypeVar("R", bound=BaseModel)


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
        wants_analysis: Whether an answer's `analysis` is asked for, where its schema has one.
    """

    version: str
    instructions: str
    evidence: str
    left_out: int = 0
    unread: int = 0
    wants_analysis: bool = True


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
        model: Name of the model.
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


def known_sum(numbers: Sequence[int | None]) -> int | None:
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
        """Asks a question once for every number in `samples`, all at once.

        Returns:
            One sample per number, in order. A failed call or an invalid reply is an unusable sample with its
            reason; it raises nothing.
        """
