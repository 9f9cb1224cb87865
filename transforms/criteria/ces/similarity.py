"""semantic_similarity: CES's comparison of a golden turn's answers by meaning."""

from collections.abc import Sequence
from statistics import median_low
from typing import ClassVar

from pydantic import Field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn
from turnwise.schemas.score import CriterionHarm, Outcome, Score
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.judging.ask import Ask, Question
from turnwise.transforms.judging.prompts.reply import ReasonedReply
from turnwise.transforms.judging.prompts.sections import MAX_SECTION, JudgedSection
from turnwise.transforms.judging.prompts.statements import left_out
from turnwise.transforms.judging.vote import ask_all
from turnwise.transforms.local_judge.grounding import compare_answers
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.text.cleaning import quoted

LABELS = (
    "Completely Inconsistent / Contradictory",
    "Largely Inconsistent (Major Omissions)",
    "Partially Consistent (Minor Omissions)",
    "Mostly Consistent",
    "Fully Consistent",
)
"""CES's labels of the scores 0 to 4."""


class SimilarityReply(ReasonedReply):
    """Verdict on the similarity of two answers."""

    expected_quote: str = Field(description="The words of the expected answer that decide.")
    actual_quote: str = Field(description="The words of the actual answer that decide.")
    reason: str = Field(description="Why, in one or two sentences.")
    score: int = Field(ge=0, le=4)


class SemanticSimilarity(JudgedCriterion):
    """Similarity in meaning of a golden turn's answers to the expected ones, 0 to 4; median of the samples.

    All expected and all observed texts of the turn are compared together. Expectations compared by EQUALS or
    CONTAINS are left out, and a turn with no others has no score; a turn with all expected texts word for
    word scores 4 without a judge. A CES case's thresholds apply unless the config sets one; the mean over the
    turns is held against the mean of theirs.

    When to use: CES golden cases whose answers are compared by meaning.
    """

    name: ClassVar[str] = "semantic_similarity"
    needs: ClassVar[str] = "an expected response"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)
    scale: ClassVar[tuple[float, float] | None] = (0.0, 4.0)

    threshold: float | None = 3.0

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Compares a golden turn's answers; None if none is compared by meaning."""
        if sample.eval_case is None or pair.expected is None:
            return None
        score = await self._score(sample, pair, ask)
        if (
            score is not None
            and sample.eval_case.dialect == "ces"
            and "threshold" not in self.model_fields_set
        ):
            gate = similarity_threshold(sample.eval_case, pair.expected)
            score.threshold = gate
            if score.value is not None:
                score.outcome = "PASS" if score.value >= gate else "FAIL"
        return score

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean over the turns, held against the mean of their gates."""
        overall = super().overall(turns)
        gates = [s.threshold for s in turns if s.value is not None and s.threshold is not None]
        if overall is not None and overall.value is not None and gates:
            overall.threshold = self.mean(gates)
            outcome: Outcome = "PASS" if overall.value >= overall.threshold else "FAIL"
            overall.outcome = None if overall.reason and outcome == "PASS" else outcome
        return overall

    async def _score(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        wanted = [o for o in sample.replay(pair).outcomes if _is_by_meaning(o)]
        if not wanted or not sample.eval_case or not sample.eval_case.similarity_enabled:
            return None
        if pair.actual is None:
            return _unasked(0, None, MISSING_TURN)
        said = turn_texts(pair.actual)
        if all(o.outcome == "PASS" for o in wanted):
            return _unasked(4, "The expected text was said.")
        if not said:
            return _unasked(0, "The agent said nothing.")
        expected = [o.expectation.text or "" for o in wanted if o.expectation]
        return await self._ask(ask, "\n".join(expected), "\n".join(said))

    async def _ask(self, ask: Ask, expected: str, actual: str) -> Score:
        sections = [JudgedSection("expected answer", expected), JudgedSection("actual answer", actual)]
        prompt = self._prompt("semantic_similarity/2", sections)
        question = Question(
            prompt,
            SimilarityReply,
            self.options,
            lambda: local_reply(expected, actual),
            lambda reply: [reply.score],
        )
        answers = await ask_all(ask, question)
        if not answers.replies:
            return Score(None, reason=answers.reason, judge=answers.use)
        scores = [reply.score for reply in answers.replies]
        middle = median_low(scores)
        reply = answers.replies[scores.index(middle)]
        details = {
            **quoted(reply.expected_quote, prompt.evidence, "expected_quote"),
            **quoted(reply.actual_quote, prompt.evidence, "actual_quote"),
            "scores": scores,
            **left_out(prompt),
        }
        return Score(
            float(middle), label=LABELS[middle], explanation=reply.reason, details=details, judge=answers.use
        )


def local_reply(expected: str, actual: str) -> SimilarityReply:
    """Compares two texts without a model."""
    found = compare_answers(expected[:MAX_SECTION], actual[:MAX_SECTION])
    return SimilarityReply(
        expected_quote="", actual_quote=found.quote, reason=found.reason, score=found.score
    )


def similarity_threshold(case: EvalCase, expected: ExpectedTurn) -> int:
    """Returns the gate of a golden turn's similarity: the turn's own, or else the case's."""
    own = expected.thresholds.semantic_similarity if expected.thresholds else None
    return case.thresholds.semantic_similarity if own is None else own


def _is_by_meaning(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or expectation.kind != "agent_response" or outcome.outcome == "SKIPPED":
        return False
    return expectation.comparison == "SEMANTIC_SIMILARITY"


def _unasked(score: int, explanation: str | None, label: str | None = None) -> Score:
    return Score(float(score), label=label or LABELS[score], explanation=explanation)
