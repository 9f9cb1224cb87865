"""redundant_related_questions: share of related questions that offer nothing new."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal
from unicodedata import normalize

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.annotations import listed
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair

_MARKS = " \t\n?!.…¿¡？！。"
_QUOTED = 200


class RedundantRelatedQuestions(MeasuredCriterion):
    """Share of the related questions of an answer that offer nothing new, 0..1.

    A related question offers nothing new if it is blank, equal to the user's question or equal to an earlier
    related one. Case, white space and marks at the ends do not count. As a gate, a threshold is an upper
    bound. Unscored if the log lacks the user's question, or if related questions could not be read; not
    applicable without related questions. The details hold the number of questions, and those that offer
    nothing new.

    When to use: Find suggestions that lead the user nowhere.
    """

    name: ClassVar[str] = "redundant_related_questions"
    needs: ClassVar[str] = "answers of a search engine with related questions, and the user's question"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the related questions of a recorded answer."""
        answer = pair.actual.grounded if pair.actual else None
        if pair.actual is None or answer is None:
            return None
        if unread := answer.why_unread("related_questions"):
            return Score(None, reason=unread)
        if not answer.related_questions:
            return None
        found = list(_redundant(pair.actual.user, answer.related_questions))
        total = len(answer.related_questions)
        details = {"questions": total, **listed(found, "redundant")}
        if pair.actual.user is None:
            return Score(None, reason="the log lacks the user's question", details=details)
        text = f"{len(found)} of {total} related questions offer nothing new." if found else None
        return Score(len(found) / total, explanation=text, details=details)


def _redundant(asked: str | None, questions: Sequence[str]) -> Iterator[JsonObject]:
    own = None if asked is None else _plain(asked)
    earlier: set[str] = set()
    for index, question in enumerate(questions):
        plain = _plain(question)
        why = "blank" if not plain else "asked" if plain == own else "repeated" if plain in earlier else None
        if why:
            yield {"question": index, "text": question[:_QUOTED], "why": why}
        earlier.add(plain)


def _plain(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split()).strip(_MARKS)
