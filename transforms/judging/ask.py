"""What a judged criterion asks, and what comes back. The only way from a criterion to a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from turnwise.schemas.values import JsonObject

NO_JUDGE = "no judge configured"
R = TypeVar("R", bound=BaseModel)


class AdkOptions(BaseModel):
    """Base of google-adk's option objects: camelCase or snake_case per key, unknown keys are errors."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, protected_namespaces=()
    )


class JudgeModelOptions(AdkOptions):
    """Which model judges, and how often it is asked (google-adk's fields).

    Attributes:
        judge_model: Name of the model; None: the run's.
        judge_model_config: Generation settings in google-genai's JSON, over the run's; None: the run's.
        num_samples: How often a question is asked; the majority decides.
        parallelism_limit: Accepted and not used: the run's `--judge_concurrency` limits all calls together.
    """

    judge_model: str | None = None
    judge_model_config: JsonObject | None = None
    num_samples: int = Field(default=5, ge=1, strict=True)
    parallelism_limit: int = Field(default=1, ge=1)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A filled prompt.

    Attributes:
        version: Name and version of its wording, such as `final_response_match/1`.
        instructions: What the judge is to do: the system instruction, the same for all evidence.
        evidence: The delimited and neutralised texts to be judged: the one user message.
        left_out: Characters of the texts that the evidence leaves out for its length.
        unread: Those of them that were to be judged.
    """

    version: str
    instructions: str
    evidence: str
    left_out: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Question(Generic[R]):
    """Something to be asked of a judge, perhaps several times.

    Attributes:
        reply_model: The schema of an answer; anything else is no answer.
        local: Answers without a model; None: only a model can.
    """

    prompt: Prompt
    reply_model: type[R]
    options: JudgeModelOptions
    local: Callable[[], R] | None = None


@dataclass(frozen=True, slots=True)
class JudgeSample(Generic[R]):
    """One answer to a question.

    Attributes:
        reply: The answer; None: it was unusable.
        reason: Why it was unusable, one line; None for an answer.
        model: Who answered.
        tokens_in: Tokens of the prompt that were paid for this sample; 0 if cached.
        tokens_out: Tokens of the answer, thoughts included; 0 if cached.
        is_cached: Whether it was answered without a call.
    """

    reply: R | None
    reason: str | None = None
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    is_cached: bool = False


class Ask(Protocol):
    """The way to a judge."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks a question once for every number in `samples`, all at once.

        Returns:
            One sample a number, in order. Whatever goes wrong with a call, or with what came back, is an
            unusable sample with its reason; nothing is raised for it.
        """
