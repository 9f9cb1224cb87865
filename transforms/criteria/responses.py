"""google-adk's criteria that compare an answer with a reference."""

from statistics import median_low
from typing import Literal, TypeVar

from pydantic import Field, StrictBool

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import ComparesTurns, JudgedCriterion, turn_mismatch, words_text
from turnwise.transforms.effects.changes import told_apart
from turnwise.transforms.judging.ask import Ask, Prompt, Question, ask_all, vote_each
from turnwise.transforms.judging.prompts import (
    JudgedSection,
    ReasonedReply,
    Section,
    reply_score,
    task_prompt,
)
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair
from turnwise.transforms.text.rouge import RougeType, has_tokens, rouge

# response_match_score: ROUGE of the agent's answer and the expected answer.


class ResponseMatch(ComparesTurns):
    """ROUGE F of the agent's final response against the expected one, 0..1.

    When to use: A reference answer exists and its wording matters. It needs no judge and works in any script.

    Attributes:
        rouge_type: `rouge1` as google-adk has it, `rouge2` or `rougeL`.
        include_intermediate_responses_in_final: Compare all messages of the agent in the turn.
        adk_compat: Score a turn without an expected answer, identical texts without words, thoughts, and what
            is no text as google-adk does.
    """

    name = "response_match_score"
    needs = "an expected response"
    severity_reason = "text"
    rests_on = ("words",)

    threshold: float | None = 0.8
    rouge_type: RougeType = "rouge1"
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        is_all = self.include_intermediate_responses_in_final
        expected = expected_text(pair.expected, is_all)
        answer = answer_text(pair.actual or Turn(), is_all)
        if not expected and not self.adk_compat:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        if self.adk_compat:
            expected = pair.expected.adk_text or pair.expected.response or ""
            answer = pair.actual.adk_text or pair.actual.agent or ""
        precision, recall, fmeasure = rouge(expected, answer, self.rouge_type)
        if not fmeasure and not self.adk_compat and not has_tokens(expected):
            return Score(float(expected.strip() == answer.strip()), label="NO_WORDS")
        return Score(fmeasure, details={"precision": precision, "recall": recall})

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        why = super().why_failed(sample, pair, score)
        if pair is None or pair.expected is None or pair.actual is None:
            return why
        is_all = self.include_intermediate_responses_in_final
        expected, answer = expected_text(pair.expected, is_all), answer_text(pair.actual, is_all)
        if expected.strip() and answer.strip():
            expected, answer = told_apart(expected, answer)
        return f"{why} Expected: {words_text(expected)}; said: {words_text(answer)}."


class MatchReply(ReasonedReply):
    """Verdict on an answer and its reference."""

    reference_quote: str = Field(description="The words of the reference that decide.")
    answer_quote: str = Field(description="The words of the agent's answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["valid", "invalid"]


class SimulatorReply(ReasonedReply):
    """Verdict on a message of the simulated user."""

    quote: str = Field(description="The words of the message, or of the plan, that decide.")
    reason: str = Field(description="Why, in one or two sentences; name the rule that is violated.")
    verdict: Literal["valid", "invalid"]


ValidityReply = TypeVar("ValidityReply", MatchReply, SimulatorReply)


class AdkJudged(JudgedCriterion):
    """A judged criterion of google-adk.

    Attributes:
        include_intermediate_responses_in_final: Judge all messages of the agent in the turn as its answer.
        adk_compat: An unusable reply of the judge abstains, as in google-adk, and is not asked again.
    """

    threshold: float | None = 0.5
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    async def judge_validity(self, ask: Ask, prompt: Prompt, reply_model: type[ValidityReply]) -> Score:
        """Returns 1.0 if most of the judge's samples find something valid, else 0.0."""
        question = Question(prompt, reply_model, self.options)
        result = await vote_each(ask, question, lambda reply: [reply.verdict == "valid"], 1)
        (ballot,), answers = result.ballots, result.answers
        if ballot.reply is None:
            return Score(None, reason=answers.reason, judge=answers.use)
        votes = [ballot.positives, ballot.negatives]
        return reply_score(answers, ballot.reply, ballot.value, ballot.reply.verdict, votes=votes)


def answer_text(turn: Turn, all_messages: bool) -> str:
    """Returns the agent's final answer, or all its messages in the turn."""
    if all_messages and turn.agent_messages:
        return "\n".join(turn.agent_messages)
    return turn.agent or ""


def expected_text(expected: ExpectedTurn, all_messages: bool) -> str:
    """Returns the expected final answer, or all expected messages of the turn."""
    final = expected.response or ""
    return "\n".join([*expected.intermediate_responses, final]) if all_messages else final


class FinalResponseMatch(AdkJudged):
    """1.0 if most of the judge's samples find the agent's answer as good as the expected one; else 0.0.

    When to use: A reference answer exists, and its meaning matters and not its wording.

    Attributes:
        adk_compat: Ask about an empty expected answer and an empty answer too, as google-adk does; an
            unusable reply of the judge abstains, and is not asked again.
    """

    name = "final_response_match_v2"
    needs = "an expected response"
    severity_reason = "text"
    rests_on = ("words",)
    default_samples = 5

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        reference = expected_text(pair.expected, self.include_intermediate_responses_in_final)
        if not reference.strip() and not self.adk_compat:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        answer = answer_text(pair.actual, self.include_intermediate_responses_in_final)
        if not answer.strip() and not self.adk_compat:
            return Score(0.0, explanation="The agent said nothing.")
        sections = [
            Section("request", pair.expected.user or pair.actual.user or ""),
            JudgedSection("reference answer", reference),
            JudgedSection("agent's answer", answer),
        ]
        return await self.judge_validity(ask, task_prompt("final_response_match/2", sections), MatchReply)


class CoherenceReply(ReasonedReply):
    """A grade of coherence."""

    quote: str = Field(description="The words of the answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    grade: int = Field(ge=1, le=5)


class ResponseEvaluation(AdkJudged):
    """Coherence of the agent's answer, 1 (falls apart) to 5; of several samples the (lower) median.

    When to use: A general impression of answers without a reference.
    """

    name = "response_evaluation_score"
    needs = "answers of the agent"
    severity_reason = "text"
    rests_on = ("words",)
    scale = (1.0, 5.0)

    threshold: float | None = 3.0

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        if pair.actual is None:
            return None
        answer = answer_text(pair.actual, self.include_intermediate_responses_in_final)
        if not answer.strip():
            return None
        sections = [Section("request", pair.actual.user or ""), JudgedSection("answer", answer)]
        prompt = task_prompt("coherence/2", sections)
        question = Question(prompt, CoherenceReply, self.options, verdicts=lambda reply: [reply.grade])
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        grades = [reply.grade for reply in answers.replies]
        grade = median_low(grades)
        reply = answers.replies[grades.index(grade)]
        return reply_score(answers, reply, float(grade), None, grades=grades)
