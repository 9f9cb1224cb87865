"""cited_relevance_difference: relevance of the cited references against that of the others."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.schemas.conversation import GroundedAnswer
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import SOURCES, cited_references, was_skipped
from turnwise.transforms.answers.checks import is_score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class CitedRelevanceDifference(MeasuredCriterion):
    """Mean relevance of an answer's cited references minus that of the others, -1..1.

    Above 0, the answer rests on the more relevant references. The relevance is the engine's own score of a
    reference; of several passages of a document, the highest counts. Unscored if a reference has no
    relevance or one outside 0..1, or if references, or the sources of a citation or a claim, could not be
    read; not applicable to a skipped answer, nor if no reference has a relevance (unscored if there is a
    threshold), nor if all references are cited, or none.

    When to use: Find answers that rest on the less relevant of what was retrieved.
    """

    name: ClassVar[str] = "cited_relevance_difference"
    scale: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    needs: ClassVar[str] = "answers of a search engine with references and their relevance"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the references of a recorded answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None or was_skipped(turn):
            return None
        if unread := turn.grounded.why_unread("references", *SOURCES):
            return Score(None, reason=unread)
        cited = cited_references(turn, turn.grounded)
        if not 0 < len(cited) < len(turn.grounded.references):
            return None
        if all(reference.relevance is None for reference in turn.grounded.references):
            return self.not_logged(pair)
        return _difference(turn.grounded, cited)


def _difference(answer: GroundedAnswer, cited: set[int]) -> Score:
    found = [one.relevance for one in answer.references]
    known = [value for value in found if value is not None and is_score(value)]
    if len(known) < len(found):
        reason = f"{len(found) - len(known)} of {len(found)} references have no relevance from 0 to 1"
        return Score(None, reason=reason)
    of_cited = _mean([value for index, value in enumerate(known) if index in cited])
    of_others = _mean([value for index, value in enumerate(known) if index not in cited])
    return Score(
        of_cited - of_others,
        explanation=f"Mean relevance: {of_cited:.4g} of the cited references, {of_others:.4g} of the others.",
        details={
            "cited": {"references": len(cited), "mean_relevance": of_cited},
            "uncited": {"references": len(found) - len(cited), "mean_relevance": of_others},
        },
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
