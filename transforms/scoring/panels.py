"""Ways to ask for one judgement: keeping the answers, giving them again, and counting what would be asked."""

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import BaseModel

from turnwise.transforms.judging.ask import Ask, JudgeSample, Question, R, known_sum
from turnwise.transforms.judging.limits import ANSWER_TOKENS, estimated_tokens

Asked = tuple[str, str, type]
_NONE = "the judge gave no such answer"


def _key(question: Question[Any]) -> Asked:
    return question.prompt.instructions, question.prompt.evidence, question.reply_model


class Recorder(Struct):
    """Asks a judge, and keeps its answers by question.

    Attributes:
        ask: The judge.
        answers: The answers to every question, usable or not.
    """

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


class OneAnswer:
    """Gives one of the answers again, and no others, so that a criterion scores by that one alone."""

    def __init__(self, recorded: Recorder, number: int) -> None:
        """Takes the answers, and which of the usable ones to each question is given (the last, at most)."""
        self._recorded, self._number = recorded, number

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Returns the answer as the first sample; the other ones are unusable."""
        usable = self._recorded.usable(question)
        given: list[JudgeSample[R]] = [JudgeSample(None, _NONE) for _ in samples]
        if usable and 0 in samples:
            given[samples.index(0)] = usable[min(self._number, len(usable) - 1)]
        return given


class IfUnsure:
    """Asks what another judge was unsure of, so that an estimate counts it at the most."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask."""
        return await self._ask(replace(question, if_unsure=True), samples)


class AskedOnce:
    """Asks without a second try: an unusable reply abstains, as in google-adk."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask."""
        return await self._ask(replace(question, asks_again=False), samples)


class Spared(Struct):
    """Counts what a judge would have been asked that agrees with the answers of another one.

    Attributes:
        recorded: The answers of the other one.
        calls: Answers that would have been asked for.
        tokens_in: About how many tokens their prompts have.
        tokens_out: About how many tokens they have.
    """

    recorded: Recorder
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Counts, and gives the same usable answer for every sample."""
        prompt = estimated_tokens(question.prompt.instructions, question.prompt.evidence)
        self.calls += len(samples)
        self.tokens_in += prompt * len(samples)
        self.tokens_out += ANSWER_TOKENS * len(samples)
        usable = self.recorded.usable(question)
        return (usable[:1] or [JudgeSample(None, _NONE)]) * len(samples)
