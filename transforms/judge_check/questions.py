"""Collects the questions that judged criteria ask about a conversation, without asking them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import JudgeSample, Prompt, Question
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation


class CheckedQuestion(NamedTuple):
    """A question of a criterion.

    Attributes:
        criterion: Name of the criterion.
        conversation: Place of the conversation in the sample; its questions are not independent.
        question: The question.
    """

    criterion: str
    conversation: int
    question: Question[Any]


class AskedQuestions(NamedTuple):
    """What criteria ask about a conversation.

    Attributes:
        questions: Criterion -> its questions, each once.
        failures: Criteria that raised.
    """

    questions: dict[str, list[Question[Any]]]
    failures: list[Failure]


class _Recorder:
    """Notes questions, and answers none."""

    def __init__(self) -> None:
        self.questions: dict[Prompt, Question[Any]] = {}

    async def __call__(self, question: Question[Any], samples: range) -> list[JudgeSample[Any]]:
        self.questions.setdefault(question.prompt, question)
        return [JudgeSample(None, "only collected")] * len(samples)


async def questions_about(sample: Sample, criteria: Sequence[JudgedCriterion]) -> AskedQuestions:
    """Returns the questions of criteria about a conversation.

    Questions that depend on the answers to others are not among them.
    """
    found = AskedQuestions({}, [])
    for criterion in criteria:
        recorder, scored = _Recorder(), ScoredConversation(sample, [], [])
        await judge_conversation(scored, [criterion], recorder)
        found.failures.extend(scored.failures)
        if recorder.questions:
            found.questions[criterion.name] = list(recorder.questions.values())
    return found
