"""Criteria of citations: whether they are valid, and whether they support the answer."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from turnwise.schemas.conversation import Citation, GroundedAnswer, GroundedClaim, Problem, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion, RestsOn
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts import (
    MAX_SECTION,
    Section,
    StatementReply,
    StatementVerdict,
    judge_statements,
    reference_text,
    share_score,
)
from turnwise.transforms.local_judge.grounding import (
    GroundingVerdict,
    SupportQuestion,
    TooLargeError,
    supported,
)
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import TextRange, Utf8Text
from turnwise.transforms.text.sentences import MAX_SENTENCES, SentenceSpan, sentences

# cited_relevance_difference: relevance of the cited references against that of the others.


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


# uncited_references: share of references that no citation names.


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


# Resolves the ranges and references of an answer's citations and claims.

LISTED = 200
"""Maximum number of entries in the details of a score."""
SOURCES = ("citations.sources", "grounding_supports.sources")
"""Parts of an answer that name references."""
_LONGEST_INDEX = 9


class Mark(NamedTuple):
    """A range of the answer that names references.

    Attributes:
        start: First byte, as logged.
        end: Byte after the last, as logged.
        place: The range in code points.
        sources: Distinct indexes of the existing references that it names.
        unknown: Names of references that do not exist.
    """

    start: int
    end: int
    place: TextRange
    sources: tuple[int, ...]
    unknown: tuple[str, ...]

    def overlaps(self, other: "Mark") -> bool:
        """Returns whether two ranges share a byte."""
        return self.start < other.end and other.start < self.end

    def offsets(self) -> JsonObject:
        """Returns the range in code points (`start`, `end`; null: invalid) and in bytes."""
        place = {"start": self.place.start, "end": self.place.end}
        return {**place, "start_byte": self.start, "end_byte": self.end}

    def details(self) -> JsonObject:
        """Returns range and references for the details of a score."""
        names = [*map(str, self.sources), *self.unknown]
        more = len(names) - LISTED
        return {
            **self.offsets(),
            "references": names[:LISTED],
            **({"more_references": more} if more > 0 else {}),
        }


def was_skipped(turn: Turn) -> bool:
    """Returns whether an answer engine gave a refusal in place of an answer."""
    return turn.grounded is not None and bool(turn.grounded.skipped_reasons)


def mark(text: Utf8Text, logged: Citation | GroundedClaim, references: int) -> Mark:
    """Resolves a citation or claim of an answer with `references` references."""
    names = dict.fromkeys(logged.sources)
    known = {name: int(name) for name in names if _is_index(name, references)}
    return Mark(
        logged.start,
        logged.end,
        text.place(logged.start, logged.end),
        tuple(dict.fromkeys(known.values())),
        tuple(name for name in names if name not in known),
    )


def _is_index(name: str, references: int) -> bool:
    return name.isascii() and name.isdecimal() and len(name) <= _LONGEST_INDEX and int(name) < references


class Marks(NamedTuple):
    """Ranges of an answer's citations and claims, in the order of the log."""

    text: Utf8Text
    citations: list[Mark]
    claims: list[Mark]


def marks_of(turn: Turn, answer: GroundedAnswer) -> Marks:
    """Resolves the citations and claims of a turn's answer."""
    text, count = Utf8Text(turn.agent or ""), len(answer.references)
    return Marks(
        text,
        [mark(text, citation, count) for citation in answer.citations],
        [mark(text, claim, count) for claim in answer.claims],
    )


def cited_references(turn: Turn, answer: GroundedAnswer) -> set[int]:
    """Returns the indexes of the references that a citation or a claim names."""
    marks = marks_of(turn, answer)
    return {source for mark in (*marks.citations, *marks.claims) for source in mark.sources}


def listed(details: Sequence[JsonObject], name: str) -> JsonObject:
    """Returns the first 200 details under a name, and the number of further ones."""
    more = len(details) - LISTED
    return {name: list(details[:LISTED]), **({"not_listed": more} if more > 0 else {})}


# citation_validity: validity of citation ranges and references.

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


# Checks whether citations support the text they mark, and whether claims have support.
#
# The engine's own claims decide if it states any; otherwise the local judge compares the sentences of the
# answer with the cited sources.

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


# judged_citation_precision: support of the marked text by citations, by a judge.


class JudgedCitationPrecision(JudgedCriterion):
    """Share of the references in an answer's citations that support the marked text, 0..1.

    A reference that does not exist or marks no text is not judged: it supports nothing. Not
    applicable to a skipped answer, nor without citations. A passage that claims nothing counts as supported.

    When to use: Like `citation_precision`, with a model instead of rules.
    """

    name: ClassVar[str] = "judged_citation_precision"
    needs: ClassVar[str] = "answers of a search engine with citations"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ("words",)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Asks about all citations of a recorded answer at once."""
        try:
            grounds = grounds_of(sample, pair)
        except TooLargeError as error:
            return Score(None, reason=str(error))
        cited = grounds.cited_sources() if grounds else []
        if grounds is None or not cited:
            return None
        asked = [one for one in cited if one.marks_text]
        if not asked:
            return Score(0.0, explanation=why_nothing(cited[0]))
        if len(asked) > MAX_SENTENCES:
            return Score(None, f"{len(asked)} cited references; at most {MAX_SENTENCES} are judged")
        request = pair.actual.user or "" if pair.actual else ""
        prompt = self._prompt(
            "citation_precision/2", [Section("request", request), *_sections(grounds, asked)]
        )
        judged, vote = await judge_statements(
            ask, prompt, self.options, len(asked), lambda: local_reply(grounds, asked)
        )
        verdicts = iter(judged)
        found = [{**one.details(), **(next(verdicts) if one.marks_text else _nothing(one))} for one in cited]
        return share_score(found, vote, "citations", self.threshold)


def _sections(grounds: Grounds, asked: Sequence[CitedSource]) -> list[Section]:
    sources = sorted({one.source or 0 for one in asked})
    return [
        *(Section(f"source {source}", grounds.source_text(source)) for source in sources),
        *(
            Section(f"passage {number}, from source {one.source}", grounds.cited_text(one.mark))
            for number, one in enumerate(asked, 1)
        ),
    ]


def _nothing(one: CitedSource) -> JsonObject:
    return {"score": 0.0, "reason": why_nothing(one)}


def local_reply(grounds: Grounds, asked: Sequence[CitedSource]) -> StatementReply:
    """Answers without a model; leaves everything out if it is too much to compare."""
    try:
        supports = grounds.by_local_judge(asked)
    except TooLargeError:
        return StatementReply(verdicts=[])
    return StatementReply(
        verdicts=[
            StatementVerdict(
                number=number,
                quote="",
                reason=support.reason or "",
                verdict="no" if support.value is False else "yes",
            )
            for number, support in enumerate(supports, 1)
        ]
    )


# Finds inconsistencies of an engine's answer that do not prevent scoring.

MISSING_TEXT = "MissingText"
UNKNOWN_REFERENCE = "UnknownReference"
NO_SOURCE = "CitationWithoutSource"
DUPLICATE = "DuplicateCitation"
OVERLAP = "OverlappingCitations"
OUT_OF_RANGE = "ScoreOutOfRange"


def found_problems(turn: Turn, answer: GroundedAnswer) -> Iterator[Problem]:
    """Yields the inconsistencies of an answer, one problem per kind; none for an unfinished answer."""
    found: dict[str, list[str]] = {}
    for kind, message in _problems(turn, answer) if answer.is_evaluable else ():
        found.setdefault(kind, []).append(message)
    for kind, messages in found.items():
        yield Problem.of(kind, messages)


def _problems(turn: Turn, answer: GroundedAnswer) -> Iterator[tuple[str, str]]:
    if not turn.agent and not answer.skipped_reasons:
        yield MISSING_TEXT, "the answer has no text"
    marks = marks_of(turn, answer)
    for name, group in (("citations", marks.citations), ("groundingSupports", marks.claims)):
        for i, mark in enumerate(group):
            yield from _of_mark(f"{name}[{i}]", mark, marks)
    for i, citation in enumerate(marks.citations):
        if not citation.sources and not citation.unknown:
            yield NO_SOURCE, f"citations[{i}]: names no reference"
    yield from _repeated(marks.citations)
    yield from _repeated_sources(answer)
    yield from _wrong_scores(answer)


def _of_mark(path: str, mark: Mark, marks: Marks) -> Iterator[tuple[str, str]]:
    if mark.place.problem:
        length = len(marks.text.data)
        yield mark.place.problem, f"{path}: bytes {mark.start} to {mark.end} of {length}"
    for name in mark.unknown:
        yield UNKNOWN_REFERENCE, f"{path}: there is no reference {name[:40]!r}"


def _repeated(citations: Sequence[Mark]) -> Iterator[tuple[str, str]]:
    """Yields citations that repeat or overlap an earlier one."""
    placed = [(c.start, c.end, i) for i, c in enumerate(citations) if c.place.problem is None]
    furthest, holder = -1, -1
    for start, end, i in sorted(placed):
        if start < furthest:
            is_copy = _meaning(citations[i]) == _meaning(citations[holder])
            kind = DUPLICATE if is_copy else OVERLAP
            yield kind, f"citations[{i}]: {'equals' if is_copy else 'overlaps'} citations[{holder}]"
        if end >= furthest:
            furthest, holder = end, i


def _meaning(mark: Mark) -> tuple[int, int, frozenset[int | str]]:
    return mark.start, mark.end, frozenset((*mark.sources, *mark.unknown))


def _repeated_sources(answer: GroundedAnswer) -> Iterator[tuple[str, str]]:
    for i, citation in enumerate(answer.citations):
        if len(set(citation.sources)) < len(citation.sources):
            yield DUPLICATE, f"citations[{i}]: names a reference twice"


def _wrong_scores(answer: GroundedAnswer) -> Iterator[tuple[str, str]]:
    if not is_score(answer.grounding_score):
        yield OUT_OF_RANGE, f"groundingScore: {answer.grounding_score}"
    for i, claim in enumerate(answer.claims):
        if not is_score(claim.score):
            yield OUT_OF_RANGE, f"groundingSupports[{i}].groundingScore: {claim.score}"
    for i, reference in enumerate(answer.references):
        if not is_score(reference.relevance):
            yield OUT_OF_RANGE, f"references[{i}].relevanceScore: {reference.relevance}"


def is_score(value: float | None) -> bool:
    """Returns whether a score is absent or in 0..1."""
    return value is None or 0 <= value <= 1
