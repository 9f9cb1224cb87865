"""Checks whether citations support the text they mark, and whether claims have support.

The engine's own claims decide if it states any; otherwise the local judge compares the sentences of the
answer with the cited sources.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.conversation import GroundedAnswer
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.answers.annotations import Mark, Marks
from turnwise.transforms.judging.prompts import reference_text
from turnwise.transforms.judging.prompts.sections import MAX_SECTION
from turnwise.transforms.local_judge.grounding import (
    GroundingVerdict,
    SupportQuestion,
    TooLargeError,
    supported,
)
from turnwise.transforms.text.sentences import MAX_SENTENCES, SentenceSpan, sentences

MAX_MARKS = 1_000
"""Maximum number of claims, and of references in citations, of an answer."""
_MAX_MARKED = 200_000


class Support(NamedTuple):
    """Whether one claim or citation is supported.

    Attributes:
        value: Whether it is supported; None: it claims nothing.
        by: Source of the value: the record itself, the engine's claims or the local judge.
        reason: One sentence for a reviewer; None: `by` suffices.
    """

    value: bool | None
    by: Literal["record", "claims", "local judge"]
    reason: str | None = None

    def details(self) -> JsonObject:
        """Returns the details of a score."""
        return {"supported": self.value, "by": self.by, "reason": self.reason}


class CitedSource(NamedTuple):
    """One source of one citation.

    Attributes:
        citation: 0-based index of the citation.
        name: The reference as named.
        source: Index of the reference; None: it does not exist.
    """

    citation: int
    mark: Mark
    name: str
    source: int | None

    @property
    def marks_text(self) -> bool:
        """Whether the source exists and the citation marks text."""
        return self.source is not None and self.mark.place.problem is None

    def details(self) -> JsonObject:
        """Returns the details of a score."""
        return {"citation": self.citation, **self.mark.offsets(), "reference": self.name}


def why_nothing(cited: CitedSource) -> str:
    """Returns why a cited source supports nothing."""
    return "The reference does not exist." if cited.source is None else "The citation marks no text."


class Grounds:
    """An answer with its citations, claims and sources.

    Attributes:
        answer: Annotations of the engine.
        marks: Ranges of the citations and claims.
        language: BCP 47 code; None: unknown.
    """

    def __init__(self, answer: GroundedAnswer, marks: Marks, language: str | None) -> None:
        """Counts the claims and references.

        Raises:
            TooLargeError: There are more than `MAX_MARKS`.
        """
        named = sum(max(1, len(citation.sources)) for citation in answer.citations)
        if max(named, len(answer.claims)) > MAX_MARKS:
            raise TooLargeError(f"more than {MAX_MARKS} claims, or references in citations")
        self.answer, self.marks, self.language = answer, marks, language
        pairs = zip(marks.claims, answer.claims, strict=True)
        self._claims = [(mark, claim) for mark, claim in pairs if mark.place.problem is None]
        self._texts: dict[int, str] = {}

    def cited_sources(self) -> list[CitedSource]:
        """Returns every source of every citation, including those that do not exist."""
        found = []
        for i, mark in enumerate(self.marks.citations):
            found += [CitedSource(i, mark, str(source), source) for source in mark.sources]
            found += [CitedSource(i, mark, name, None) for name in mark.unknown]
        return found

    def cited_text(self, mark: Mark) -> str:
        """Returns the text of a valid range."""
        return self.marks.text.text[mark.place.start : mark.place.end]

    def source_text(self, source: int) -> str:
        """Returns the text of a source."""
        if source not in self._texts:
            self._texts[source] = reference_text(self.answer.references[source])
        return self._texts[source]

    def by_record(self, cited: CitedSource) -> Support | None:
        """Returns the support of a cited source by the record; None: the record does not state it."""
        if not cited.marks_text:
            return Support(False, "record", why_nothing(cited))
        claims = [(mark, claim) for mark, claim in self._claims if mark.overlaps(cited.mark)]
        if not claims:
            return None
        checked = [mark for mark, claim in claims if claim.needs_support]
        if not checked:
            return Support(None, "claims")
        return Support(any(cited.source in mark.sources for mark in checked), "claims")

    def by_local_judge(self, cited: Sequence[CitedSource]) -> list[Support]:
        """Returns whether each cited source holds at least one of the marked sentences.

        Raises:
            TooLargeError: The texts exceed the limits of the local judge.
        """
        if sum(c.mark.end - c.mark.start for c in cited) > _MAX_MARKED:
            raise TooLargeError(f"citations that mark more than {_MAX_MARKED} bytes together")
        spans = [self._sentences(self.cited_text(c.mark)) for c in cited]
        questions = [
            SupportQuestion(text, (self.source_text(c.source or 0),))
            for c, texts in zip(cited, spans, strict=True)
            for text in texts
        ]
        verdicts = iter(supported(questions))
        return [_of_sentences([next(verdicts) for _ in texts]) for texts in spans]

    def _sentences(self, text: str) -> list[str]:
        return [text[start:end] for start, end in sentences(text, self.language)]

    def claimed(self) -> list[tuple[JsonObject, Support]]:
        """Returns the claims of the answer with their offsets and support.

        Raises:
            TooLargeError: The texts exceed the limits of the local judge.
        """
        if self.answer.claims:
            return [
                ({"claim": i, **mark.details()}, Support(bool(mark.sources), "claims"))
                for i, (mark, claim) in enumerate(zip(self.marks.claims, self.answer.claims, strict=True))
                if claim.needs_support
            ]
        text = self.marks.text.text
        if len(text) > MAX_SECTION:
            raise TooLargeError(f"an answer of more than {MAX_SECTION} characters")
        spans = sentences(text, self.language)
        if len(spans) > MAX_SENTENCES:
            raise TooLargeError(f"{len(spans)} sentences; at most {MAX_SENTENCES} are judged")
        cited = [self._cited_in(span) for span in spans]
        questions = [
            SupportQuestion(text[span.start : span.end], tuple(map(self.source_text, sources)))
            for span, sources in zip(spans, cited, strict=True)
        ]
        found = zip(spans, cited, map(_of_sentence, supported(questions)), strict=True)
        return [
            ({"start": span.start, "end": span.end, "references": list(map(str, sources))}, support)
            for span, sources, support in found
            if support.value is not None
        ]

    def _cited_in(self, span: SentenceSpan) -> list[int]:
        """Returns the sources of the citations that overlap a sentence."""
        marks = [mark for mark in self.marks.citations if mark.place.problem is None]
        found = (
            m.sources for m in marks if (m.place.start or 0) < span.end and span.start < (m.place.end or 0)
        )
        return sorted({source for sources in found for source in sources})


def _of_sentence(verdict: GroundingVerdict) -> Support:
    if verdict.label == "not_applicable":
        return Support(None, "local judge", verdict.reason)
    return Support(verdict.label == "supported", "local judge", verdict.reason)


def _of_sentences(verdicts: Sequence[GroundingVerdict]) -> Support:
    found = [_of_sentence(verdict) for verdict in verdicts]
    for value in (True, False):
        decisive = next((support for support in found if support.value is value), None)
        if decisive is not None:
            return decisive
    return Support(None, "local judge", "It marks nothing that claims anything.")
