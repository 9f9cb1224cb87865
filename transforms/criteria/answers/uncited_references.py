"""uncited_references: share of references that no citation names."""

from typing import ClassVar, Literal

from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import LISTED, SOURCES, cited_references, was_skipped
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class UncitedReferences(MeasuredCriterion):
    """Share of an answer's references that neither a citation nor a claim names, 0..1.

    As a gate, a threshold is an upper bound. Unscored if references, or the sources of a citation or a claim,
    could not be read; not applicable to a skipped answer, nor without references. The details hold the
    indexes of the references that nothing names.

    When to use: Find what was retrieved and never used.
    """

    name: ClassVar[str] = "uncited_references"
    needs: ClassVar[str] = "answers of a search engine with references"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Counts the references of a recorded answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None or was_skipped(turn):
            return None
        if unread := turn.grounded.why_unread("references", *SOURCES):
            return Score(None, reason=unread)
        if not turn.grounded.references:
            return None
        cited = cited_references(turn, turn.grounded)
        total = len(turn.grounded.references)
        uncited = [index for index in range(total) if index not in cited]
        return Score(
            len(uncited) / total,
            explanation=f"{len(uncited)} of {total} references are not cited." if uncited else None,
            details={"uncited": uncited[:LISTED], "uncited_count": len(uncited), "references": total},
        )
