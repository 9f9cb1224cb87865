"""final_response_match_v2: equivalence of the agent's answer and a reference answer, by a judge."""

from typing import ClassVar, Literal

from pydantic import Field

from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.adk.judged import AdkJudged
from turnwise.transforms.criteria.base import RestsOn, turn_mismatch
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import JudgedSection, Section
from turnwise.transforms.judging.prompts.statements import left_out
from turnwise.transforms.judging.vote import vote
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted


class MatchReply(ReasonedReply):
    """Verdict on an answer and its reference."""

    reference_quote: str = Field(description="The words of the reference that decide.")
    answer_quote: str = Field(description="The words of the agent's answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["valid", "invalid"]


class FinalResponseMatch(AdkJudged):
    """1.0 if most of the judge's samples find the agent's answer as good as the expected one; else 0.0.

    When to use: A reference answer exists, and its meaning matters and not its wording.

    Attributes:
        adk_compat: Ask about an empty expected answer and an empty answer too, as google-adk does; an
            unusable reply of the judge abstains, and is not asked again.
    """

    name: ClassVar[str] = "final_response_match_v2"
    needs: ClassVar[str] = "an expected response"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)
    default_samples: ClassVar[int] = 5

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Compares the answer of a recorded turn with its golden turn's; None if that expects no answer."""
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        reference = self.wanted(pair.expected)
        if not reference.strip() and not self.adk_compat:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        answer = self.said(pair.actual)
        if not answer.strip() and not self.adk_compat:
            return Score(0.0, explanation="The agent said nothing.")
        sections = [
            Section("request", pair.expected.user or pair.actual.user or ""),
            JudgedSection("reference answer", reference),
            JudgedSection("agent's answer", answer),
        ]
        return await self._ask(ask, sections)

    async def _ask(self, ask: Ask, sections: list[Section]) -> Score:
        prompt = self._prompt("final_response_match/2", sections)
        question = Question(prompt, MatchReply, self.options)
        result = await vote(ask, question, lambda reply: reply.verdict == "valid")
        (ballot,), answers = result.ballots, result.answers
        if ballot.reply is None:
            return Score(None, reason=answers.reason, judge=answers.use)
        reply = ballot.reply
        details = {
            **quoted(reply.reference_quote, prompt.evidence, "reference_quote"),
            **quoted(reply.answer_quote, prompt.evidence, "answer_quote"),
            "votes": [ballot.positives, ballot.negatives],
            **left_out(prompt),
        }
        return Score(
            ballot.value, label=reply.verdict, explanation=reply.reason, details=details, judge=answers.use
        )
