"""citation_validity: validity of citation ranges and references."""

from typing import ClassVar

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import Mark, Marks, listed, marks_of
from turnwise.transforms.answers.checks import NO_SOURCE, UNKNOWN_REFERENCE
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair

_QUOTED_BYTES = 200


class CitationValidity(MeasuredCriterion):
    """Share of an answer's citations that are valid, 0..1.

    A citation is valid if its range is not empty, lies inside the text and begins and ends between
    characters, and if it names references, all of which exist. Not applicable without citations. The details
    hold every citation's place, in code points (`start`, `end`) and bytes, and its problems.

    When to use: Find broken citations: ranges outside the text, references that do not exist.
    """

    name: ClassVar[str] = "citation_validity"
    needs: ClassVar[str] = "answers of a search engine with citations"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ("words",)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Checks the citations of a recorded answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None or not turn.grounded.citations:
            return None
        marks = marks_of(turn, turn.grounded)
        found = [_details(i, mark, marks) for i, mark in enumerate(marks.citations)]
        wrong = [details for details in found if details["problems"]]
        return Score(
            (len(found) - len(wrong)) / len(found),
            explanation=_explanation(wrong[0], len(wrong), len(found)) if wrong else None,
            details=listed(found, "citations"),
        )


def _details(index: int, mark: Mark, marks: Marks) -> JsonObject:
    problems = [mark.place.problem] if mark.place.problem else []
    if mark.unknown:
        problems.append(UNKNOWN_REFERENCE)
    elif not mark.sources:
        problems.append(NO_SOURCE)
    details: JsonObject = {"citation": index, **mark.details(), "problems": problems}
    if mark.place.problem:
        details["text"] = marks.text.cut(mark.start, min(mark.end, mark.start + _QUOTED_BYTES))
    return details


def _explanation(first: JsonObject, wrong: int, total: int) -> str:
    problems = ", ".join(first["problems"])
    return (
        f"{wrong} of {total} citations are not valid; the first is citation {first['citation']}: {problems}."
    )
