"""citation_precision and citation_recall: support by citations, without a model."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import listed, marks_of, was_skipped
from turnwise.transforms.answers.citation_support import CitedSource, Grounds, Support
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.local_judge.grounding import TooLargeError
from turnwise.transforms.matching.sample import Sample, TurnPair


class CitationPrecision(MeasuredCriterion):
    """Share of the references in an answer's citations that support the marked text, 0..1.

    The engine's claims decide: a reference supports the marked text if a claim in it names the reference.
    Without claims the local judge decides: the reference must support at least one of the marked sentences. A
    reference that does not exist or marks no text supports nothing. Text that needs no support or claims
    nothing is excluded. Not applicable to a skipped answer, nor without citations.

    When to use: Check without a model whether the cited references support the marked text.
    """

    name: ClassVar[str] = "citation_precision"
    needs: ClassVar[str] = "answers of a search engine with citations"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ("words",)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Checks the citations of a recorded answer."""
        try:
            grounds = grounds_of(sample, pair)
            cited = grounds.cited_sources() if grounds else []
            supports = _decided(grounds, cited) if grounds else []
        except TooLargeError as error:
            return Score(None, reason=str(error))
        found = [{**c.details(), **support.details()} for c, support in zip(cited, supports, strict=True)]
        return share(found, "citations", "{} of {} cited references do not support what they mark")


class CitationRecall(MeasuredCriterion):
    """Share of an answer's claims that need support and have it, 0..1.

    The engine's claims decide: a claim has support if it names an existing reference. Without claims, the
    local judge compares the sentences that claim something with the references cited in them. Unscored if
    there are claims but no text. Not applicable to a skipped answer, nor if nothing needs support.

    When to use: Check without a model whether every claim that needs support has it.
    """

    name: ClassVar[str] = "citation_recall"
    needs: ClassVar[str] = "answers of a search engine with citations"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ("words",)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Checks the claims of a recorded answer."""
        try:
            grounds = grounds_of(sample, pair)
            claimed = grounds.claimed() if grounds else []
        except TooLargeError as error:
            return Score(None, reason=str(error))
        if grounds and claimed and not grounds.marks.text.text:
            return Score(None, reason="the answer has no text that could claim anything")
        found = [{**place, **support.details()} for place, support in claimed]
        return share(found, "claims", "{} of {} claims have no support")


def grounds_of(sample: Sample, pair: TurnPair) -> Grounds | None:
    """Returns a recorded answer with its sources; None: it was skipped, or the turn holds no engine's answer.

    Raises:
        TooLargeError: It has too many claims or citations.
    """
    turn = pair.actual
    if turn is None or turn.grounded is None or was_skipped(turn):
        return None
    return Grounds(turn.grounded, marks_of(turn, turn.grounded), sample.conversation.language)


def _decided(grounds: Grounds, cited: Sequence[CitedSource]) -> list[Support]:
    by_record = [grounds.by_record(one) for one in cited]
    left = [one for one, support in zip(cited, by_record, strict=True) if support is None]
    judged = iter(grounds.by_local_judge(left))
    return [next(judged) if support is None else support for support in by_record]


def share(found: Sequence[JsonObject], name: str, lack: str) -> Score | None:
    """Returns the share of supported items among those that claim something; None: there are none."""
    counted = [details for details in found if details["supported"] is not None]
    if not counted:
        return None
    unsupported = [details for details in counted if not details["supported"]]
    explanation = lack.format(len(unsupported), len(counted)) + "." if unsupported else None
    if unsupported and unsupported[0]["reason"]:
        explanation = f"{explanation} The first: {unsupported[0]['reason']}"
    value = (len(counted) - len(unsupported)) / len(counted)
    return Score(value, explanation=explanation, details=listed(found, name))
