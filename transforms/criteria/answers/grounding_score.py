"""grounding_score: grounding score of the answer engine."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator

from turnwise.schemas.conversation import GroundedAnswer
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import listed, marks_of, was_skipped
from turnwise.transforms.answers.checks import is_score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair

WEAK_CLAIM = "WEAK_CLAIM"


class GroundingScore(MeasuredCriterion):
    """The engine's own score of an answer, 0..1; without one, the mean over the scored claims.

    Claims that need no check are excluded; the details hold the scores of all others. Not applicable to a
    skipped answer, nor to one whose claims need no check, nor to one without a score (unscored if there is a
    threshold). With a threshold, the CES result gets a
    `hallucinationResult` by it.

    When to use: Answers of Discovery Engine with grounding scores.

    Attributes:
        claim_threshold: Minimum score of every claim; a lower one fails the answer.
    """

    name: ClassVar[str] = "grounding_score"
    needs: ClassVar[str] = "answers of a search engine with a grounding score"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ()

    claim_threshold: float | None = Field(default=None, ge=0.0, le=1.0, strict=True)

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if self.claim_threshold is not None and self.threshold is None:
            raise ValueError("claim_threshold needs a threshold beside it (0 lets every answer pass)")
        return self

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns the engine's score of a recorded answer."""
        turn = pair.actual
        answer = turn.grounded if turn else None
        if turn is None or was_skipped(turn):
            return None
        if answer is None or (answer.grounding_score is None and not answer.claims):
            return self.not_logged(pair)
        claims = [
            {"claim": i, **mark.details(), "score": claim.score if is_score(claim.score) else None}
            for i, (mark, claim) in enumerate(zip(marks_of(turn, answer).claims, answer.claims, strict=True))
            if claim.needs_support
        ]
        score = _score(answer, claims)
        if score is not None and self.claim_threshold is not None:
            self._hold_claims(score, claims, self.claim_threshold)
        return score

    def _hold_claims(self, score: Score, claims: Sequence[JsonObject], least: float) -> None:
        weak = [claim for claim in claims if claim["score"] is not None and claim["score"] < least]
        if weak and score.value is not None:
            score.outcome, score.threshold, score.label = "FAIL", self.threshold, WEAK_CLAIM
            worst = min(weak, key=lambda claim: claim["score"])
            score.explanation = (
                f"{len(weak)} of {len(claims)} claims score below {least:g}; "
                f"the least, {worst['score']:g}, has claim {worst['claim']}."
            )

    def overall(self, turns: Sequence[Score]) -> Score | None:
        """Returns the mean; FAIL if a claim failed its answer."""
        overall = super().overall(turns)
        if overall is not None and any(score.label == WEAK_CLAIM for score in turns):
            overall.outcome, overall.threshold, overall.label = "FAIL", self.threshold, WEAK_CLAIM
        return overall


def _score(answer: GroundedAnswer, claims: Sequence[JsonObject]) -> Score | None:
    details = listed(claims, "claims")
    if not is_score(answer.grounding_score):
        return Score(None, reason=f"the answer's score is {answer.grounding_score}", details=details)
    if answer.grounding_score is not None:
        return Score(answer.grounding_score, label="answer", details=details)
    scores = [claim["score"] for claim in claims if claim["score"] is not None]
    if scores:
        return Score(sum(scores) / len(scores), label="claims", details=details)
    return Score(None, reason="the engine scored no claim", details=details) if claims else None
