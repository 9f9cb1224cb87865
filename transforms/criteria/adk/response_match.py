"""response_match_score: ROUGE of the agent's answer and the expected answer."""

from typing import ClassVar

from pydantic import StrictBool

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.adk.judged import answer_text, expected_text
from turnwise.transforms.criteria.base import ComparesTurns, RestsOn, turn_mismatch
from turnwise.transforms.criteria.reasons import words_text
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair
from turnwise.transforms.text.rouge import RougeType, has_tokens, rouge


class ResponseMatch(ComparesTurns):
    """ROUGE F of the agent's final response against the expected one, 0..1.

    When to use: A reference answer exists and its wording matters. It needs no judge and works in any script.

    Attributes:
        rouge_type: `rouge1` as google-adk has it, `rouge2` or `rougeL`.
        include_intermediate_responses_in_final: Compare all messages of the agent in the turn.
        adk_compat: Score a turn without an expected answer, identical texts without words, thoughts, and what
            is no text as google-adk does.
    """

    name: ClassVar[str] = "response_match_score"
    needs: ClassVar[str] = "an expected response"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ("words",)

    threshold: float | None = 0.8
    rouge_type: RougeType = "rouge1"
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the words of a recorded turn with those of its golden turn."""
        if pair.expected is None:
            return turn_mismatch(pair) if pair.label == EXTRA_TURN else None
        if self.adk_compat:
            return self._adk_score(pair)
        expected = self._expected_text(pair.expected)
        if not expected:
            return None
        if pair.actual is None:
            return turn_mismatch(pair)
        said = self._said_text(pair.actual)
        scores = rouge(expected, said, self.rouge_type)
        if not scores.fmeasure and not has_tokens(expected):
            return Score(float(expected.strip() == said.strip()), label="NO_WORDS")
        return Score(scores.fmeasure, details={"precision": scores.precision, "recall": scores.recall})

    def why_failed(self, sample: Sample, pair: TurnPair | None, score: Score) -> str:
        """Returns the expected and the actual text."""
        why = super().why_failed(sample, pair, score)
        if pair is None or pair.expected is None or pair.actual is None:
            return why
        expected, said = self._expected_text(pair.expected), self._said_text(pair.actual)
        return f"{why} Expected: {words_text(expected)}; said: {words_text(said)}."

    def _adk_score(self, pair: TurnPair) -> Score | None:
        if pair.actual is None or pair.expected is None:
            return turn_mismatch(pair)
        expected = pair.expected.adk_text or pair.expected.response or ""
        said = pair.actual.adk_text or pair.actual.agent or ""
        scores = rouge(expected, said, self.rouge_type)
        return Score(scores.fmeasure, details={"precision": scores.precision, "recall": scores.recall})

    def _expected_text(self, expected: ExpectedTurn) -> str:
        return expected_text(expected, self.include_intermediate_responses_in_final)

    def _said_text(self, actual: Turn) -> str:
        return answer_text(actual, self.include_intermediate_responses_in_final)
