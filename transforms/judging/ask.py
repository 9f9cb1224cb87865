"""Questions, answers and the `Ask` protocol, through which criteria access models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from turnwise.schemas.values import JsonObject
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
        parallelism_limit: Accepted and not used: the run's `--judge_concurrency` limits all calls together.

    >>> import turnwise
    >>> turnwise.JudgeModelOptions(judge_model="gemini-2.5-pro", num_samples=3).num_samples
    3
    """

    judge_model: str | None = None
    judge_model_config: JsonObject | None = None
    num_samples: int = Field(default=5, ge=1, strict=True)
    parallelism_limit: int = Field(default=1, ge=1)


@dataclass(frozen=True, slots=True)
class Prompt:
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


@dataclass(frozen=True, slots=True)
class Question(Generic[R]):
    """A question to a judge.

    Attributes:
        reply_model: Schema of an answer; other answers are unusable.
        local: Computes the answer without a model; None: a model is required.
        verdicts: What an answer decides, item by item, None where it abstains; None: it is not known, so that
            verdicts that flip between votes are not counted.

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


@dataclass(frozen=True, slots=True)
class JudgeSample(Generic[R]):
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
