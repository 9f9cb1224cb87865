"""response_evaluation_score: coherence of the agent's answer, by a judge."""

from statistics import median_low
from typing import ClassVar

from pydantic import Field

from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.adk.judged import AdkJudged
from turnwise.transforms.criteria.base import RestsOn
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import JudgedSection, Section
from turnwise.transforms.judging.prompts.statements import left_out
from turnwise.transforms.judging.vote import ask_all
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted


class CoherenceReply(ReasonedReply):
    """A grade of coherence."""

    quote: str = Field(description="The words of the answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    grade: int = Field(ge=1, le=5)


class ResponseEvaluation(AdkJudged):
    """Coherence of the agent's answer, 1 (falls apart) to 5; of several samples the (lower) median.

    When to use: A general impression of answers without a reference.
    """

    name: ClassVar[str] = "response_evaluation_score"
    needs: ClassVar[str] = "answers of the agent"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)
    scale: ClassVar[tuple[float, float] | None] = (1.0, 5.0)

    threshold: float | None = 3.0

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Grades the answer of a recorded turn; None if the agent said nothing."""
        answer = self.said(pair.actual) if pair.actual else ""
        if pair.actual is None or not answer.strip():
            return None
        sections = [Section("request", pair.actual.user or ""), JudgedSection("answer", answer)]
        prompt = self._prompt("coherence/2", sections)
        question = Question(prompt, CoherenceReply, self.options, verdicts=lambda reply: [reply.grade])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        grade = median_low(reply.grade for reply in answers.replies)
        reply = next(reply for reply in answers.replies if reply.grade == grade)
        grades = [reply.grade for reply in answers.replies]
        details = {**quoted(reply.quote, prompt.evidence), "grades": grades, **left_out(prompt)}
        return Score(float(grade), explanation=reply.reason, details=details, judge=answers.use)
