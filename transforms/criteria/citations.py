"""Criteria of citations: whether they are valid, and whether they support the answer."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from turnwise.schemas.conversation import Citation, GroundedAnswer, GroundedClaim, Problem, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionSeverityReason, Score
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion, RestsOn
from turnwise.transforms.judging import prompts
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.local_judge.grounding import GroundingVerdict, TooLargeError, supported
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import Remembered, TextRange, Utf8Text
from turnwise.transforms.text.sentences import MAX_SENTENCES, sentences


class OfAnswer(MeasuredCriterion):
    """A measure of an engine's answers; other turns have nothing to measure."""

    severity_reason: ClassVar[CriterionSeverityReason] = "text"
    rests_on: ClassVar[RestsOn] = ()
    reads: ClassVar[tuple[str, ...]] = ()  # parts of an answer that must have been read, else it has no score
    of_refusals: ClassVar[bool] = True  # whether a refusal in place of an answer is measured

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Measures the answer of a recorded turn, if the parts that count were read."""
        turn = pair.actual
        if turn is None or turn.grounded is None or (was_skipped(turn) and not self.of_refusals):
            return None
        unread = turn.grounded.why_unread(*self.reads)
        return Score(None, reason=unread) if unread else self.measure(turn, turn.grounded)

    @abstractmethod
    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        """Measures an answer; None if there is nothing to measure in it."""


class AnswerFaults(OfAnswer):
    """Share of the parts of an answer that lack something; a threshold is an upper bound."""

    gate = "at_most"


def fault_share(faults: int, total: int, words: str, details: JsonObject) -> Score:
    """Returns the share of faults; `words` says what is wrong, after `2 of 3`."""
    text = f"{faults} of {total} {words}." if faults else None
    return Score(faults / total, explanation=text, details=details)


class CitedRelevanceDifference(OfAnswer):
    """Mean relevance of an answer's cited references minus that of the others, -1..1.

    Above 0, the answer rests on the more relevant references. The relevance is the engine's own score of a
    reference; of several passages of a document, the highest counts. No score if a reference has no
    relevance or one outside 0..1, or if references, or the sources of a citation or a claim, could not be
    read; not applicable to a skipped answer, nor if no reference has a relevance (no score if there is a
    threshold), nor if all references are cited, or none.

    When to use: Find answers that rest on the less relevant of what was retrieved.
    """

    name = "cited_relevance_difference"
    scale = (-1.0, 1.0)
    needs = "answers of a search engine with references and their relevance"
    reads = ("references", "citations.sources", "grounding_supports.sources")
    of_refusals = False

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        cited, values = cited_references(turn, answer), [r.relevance for r in answer.references]
        if not 0 < len(cited) < len(values):
            return None
        if all(value is None for value in values):
            return self.not_logged(turn)
        known = [value for value in values if value is not None and is_score(value)]
        if len(known) < len(values):
            reason = f"{len(values) - len(known)} of {len(values)} references have no relevance from 0 to 1"
            return Score(None, reason=reason)
        others = len(values) - len(cited)
        of_cited = sum(value for i, value in enumerate(known) if i in cited) / len(cited)
        of_others = sum(value for i, value in enumerate(known) if i not in cited) / others
        text = f"Mean relevance: {of_cited:.4g} of the cited references, {of_others:.4g} of the others."
        details: JsonObject = {
            "cited": {"references": len(cited), "mean_relevance": of_cited},
            "uncited": {"references": others, "mean_relevance": of_others},
        }
        return Score(of_cited - of_others, explanation=text, details=details)


class UncitedReferences(AnswerFaults):
    """Share of an answer's references that neither a citation nor a claim names, 0..1.

    As a gate, a threshold is an upper bound. No score if references, or the sources of a citation or a claim,
    could not be read; not applicable to a skipped answer, nor without references. The details hold the
    indexes of the references that nothing names.

    When to use: Find what was retrieved and never used.
    """

    name = "uncited_references"
    needs = "answers of a search engine with references"
    reads = CitedRelevanceDifference.reads
    of_refusals = False

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        total = len(answer.references)
        if not total:
            return None
        uncited = sorted(set(range(total)) - cited_references(turn, answer))
        details = {"uncited": uncited[:LISTED], "uncited_count": len(uncited), "references": total}
        return fault_share(len(uncited), total, "references are not cited", details)


# Resolves the ranges and references of an answer's citations and claims.

LISTED = 200
"""Maximum number of entries in the details of a score."""
_LONGEST_INDEX = 9


class Mark(NamedTuple):
    """A half-open range of the answer that names references: indexes of known, names of unknown ones."""

    start: int
    end: int
    span: TextRange
    sources: tuple[int, ...]
    unknown: tuple[str, ...]

    def offsets(self) -> JsonObject:
        """Returns the range in code points (`start`, `end`; null: invalid) and in bytes."""
        code_points = {"start": self.span.start, "end": self.span.end}
        return {**code_points, "start_byte": self.start, "end_byte": self.end}

    def details(self) -> JsonObject:
        """Returns range and references for the details of a score."""
        names = [*map(str, self.sources), *self.unknown]
        more = {"more_references": len(names) - LISTED} if len(names) > LISTED else {}
        return {**self.offsets(), "references": names[:LISTED], **more}


def was_skipped(turn: Turn) -> bool:
    """Returns whether an answer engine gave a refusal in place of an answer."""
    return turn.grounded is not None and bool(turn.grounded.skipped_reasons)


class Marks(NamedTuple):
    """Ranges of an answer's citations and claims, in the order of the log."""

    text: Utf8Text
    citations: list[Mark]
    claims: list[Mark]


def marks_of(turn: Turn, answer: GroundedAnswer) -> Marks:
    """Resolves the citations and claims of a turn's answer."""
    text, count = Utf8Text(turn.agent or ""), len(answer.references)

    def mark(logged: Citation | GroundedClaim) -> Mark:
        numbers = [name for name in dict.fromkeys(logged.sources) if name.isascii() and name.isdecimal()]
        known = {name: int(name) for name in numbers if len(name) <= _LONGEST_INDEX and int(name) < count}
        unknown = dict.fromkeys(name for name in logged.sources if name not in known)
        span = text.text_range(logged.start, logged.end)
        return Mark(logged.start, logged.end, span, tuple(dict.fromkeys(known.values())), tuple(unknown))

    return Marks(text, list(map(mark, answer.citations)), list(map(mark, answer.claims)))


def cited_references(turn: Turn, answer: GroundedAnswer) -> set[int]:
    """Returns the indexes of the references that a citation or a claim names."""
    marks = marks_of(turn, answer)
    return {source for mark in (*marks.citations, *marks.claims) for source in mark.sources}


def listed(details: Sequence[JsonObject], name: str) -> JsonObject:
    """Returns the first 200 details under a name, and the number of further ones."""
    more = {"not_listed": len(details) - LISTED} if len(details) > LISTED else {}
    return {name: list(details[:LISTED]), **more}


_QUOTED_BYTES = 200


class CitationValidity(OfAnswer):
    """Share of an answer's citations that are valid, 0..1.

    A citation is valid if its range is not empty, lies inside the text and begins and ends between
    characters, and if it names references, all of which exist. Not applicable without citations. The details
    hold every citation's place, in code points (`start`, `end`) and bytes, and its problems.

    When to use: Find broken citations: ranges outside the text, references that do not exist.
    """

    name = "citation_validity"
    needs = "answers of a search engine with citations"
    severity_reason = "unsupported"
    rests_on = ("words",)

    def measure(self, turn: Turn, answer: GroundedAnswer) -> Score | None:
        marks, checked = marks_of(turn, answer), list[JsonObject]()
        for index, mark in enumerate(marks.citations):
            problems = [mark.span.problem] if mark.span.problem else []
            if mark.unknown:
                problems.append(UNKNOWN_REFERENCE)
            elif not mark.sources:
                problems.append(NO_SOURCE)
            checked.append({"citation": index, **mark.details(), "problems": problems})
            if mark.span.problem:
                checked[-1]["text"] = marks.text.cut(mark.start, min(mark.end, mark.start + _QUOTED_BYTES))
        if not checked:
            return None
        wrong, explanation = [details for details in checked if details["problems"]], None
        if wrong:
            first = f"the first is citation {wrong[0]['citation']}: {', '.join(wrong[0]['problems'])}."
            explanation = f"{len(wrong)} of {len(checked)} citations are not valid; {first}"
        value = (len(checked) - len(wrong)) / len(checked)
        return Score(value, explanation=explanation, details=listed(checked, "citations"))


# Checks whether citations support the text they mark, and whether claims have support.
#
# The engine's own claims decide if it states any; otherwise the local judge compares the sentences of the
# answer with the cited sources.

MAX_MARKS = 1_000
"""Maximum number of claims, and of references in citations, of an answer."""
_MAX_MARKED = 200_000


class Support(NamedTuple):
    """Whether a claim or citation is supported (None: it claims nothing), by what, and why if need be."""

    supported: bool | None
    by: Literal["record", "claims", "local judge"]
    reason: str | None = None


class CitedSource(NamedTuple):
    """One source of one citation, by their indexes; None: there is no reference of that name."""

    citation: int
    mark: Mark
    name: str
    source: int | None

    @property
    def why_nothing(self) -> str | None:
        """Why it supports nothing; None: the source exists and the citation marks text."""
        if self.source is None:
            return "The reference does not exist."
        return "The citation marks no text." if self.mark.span.problem else None

    def details(self) -> JsonObject:
        return {"citation": self.citation, **self.mark.offsets(), "reference": self.name}


class Grounds:
    """An answer with its citations, claims and sources."""

    def __init__(self, answer: GroundedAnswer, marks: Marks, language: str | None) -> None:
        """Lists the cited sources; raises TooLargeError if there are more than `MAX_MARKS`, or claims."""
        named = sum(max(1, len(citation.sources)) for citation in answer.citations)
        if max(named, len(answer.claims)) > MAX_MARKS:
            raise TooLargeError(f"more than {MAX_MARKS} claims, or references in citations")
        self.answer, self.marks, self.text, self.language = answer, marks, marks.text.text, language
        self.source_texts = Remembered[int, str](lambda i: prompts.reference_text(answer.references[i]))
        self.cited: list[CitedSource] = []  # of all citations, also those that do not exist
        for i, mark in enumerate(marks.citations):
            self.cited += [CitedSource(i, mark, str(source), source) for source in mark.sources]
            self.cited += [CitedSource(i, mark, name, None) for name in mark.unknown]

    def by_local_judge(self, cited: Sequence[CitedSource]) -> list[Support]:
        """Returns whether each cited source holds a marked sentence at least; raises TooLargeError."""
        if sum(c.mark.end - c.mark.start for c in cited) > _MAX_MARKED:
            raise TooLargeError(f"citations that mark more than {_MAX_MARKED} bytes together")
        texts = [self.text[c.mark.span.start : c.mark.span.end] for c in cited]
        spans = [[text[start:end] for start, end in sentences(text, self.language)] for text in texts]
        sources = [(self.source_texts[c.source or 0],) for c in cited]
        questions = [(text, of) for of, marked in zip(sources, spans, strict=True) for text in marked]
        supports, verdicts = list[Support](), iter(supported(questions))
        for marked in spans:
            first: dict[bool | None, Support] = {}
            for _ in marked:
                support = _of_sentence(next(verdicts))
                first.setdefault(support.supported, support)
            nothing = Support(None, "local judge", "It marks nothing that claims anything.")
            supports.append(first.get(True) or first.get(False) or nothing)
        return supports


def _of_sentence(verdict: GroundingVerdict) -> Support:
    is_supported = None if verdict.label == "not_applicable" else verdict.label == "supported"
    return Support(is_supported, "local judge", verdict.reason)


class CitationSupport(MeasuredCriterion):
    """A measure of what the cited references of an answer support."""

    needs = "answers of a search engine with citations"
    severity_reason = "unsupported"
    rests_on = ("words",)

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Measures a recorded answer, unless it is too much to compare."""
        try:
            grounds = grounds_of(sample, pair)
            return self.measure(grounds) if grounds else None
        except TooLargeError as error:
            return Score(None, reason=str(error))

    @abstractmethod
    def measure(self, grounds: Grounds) -> Score | None:
        """Measures an answer; raises TooLargeError."""


class CitationPrecision(CitationSupport):
    """Share of the references in an answer's citations that support the marked text, 0..1.

    The engine's claims decide: a reference supports the marked text if a claim in it names the reference.
    Without claims the local judge decides: the reference must support at least one of the marked sentences. A
    reference that does not exist or marks no text supports nothing. Text that needs no support or claims
    nothing is excluded. Not applicable to a skipped answer, nor without citations.

    When to use: Check without a model whether the cited references support the marked text.
    """

    name = "citation_precision"

    def measure(self, grounds: Grounds) -> Score | None:
        logged = zip(grounds.marks.claims, grounds.answer.claims, strict=True)
        claims = [(mark, claim) for mark, claim in logged if mark.span.problem is None]
        by_record = list[Support | None]()  # None: the record does not state it
        for cited in grounds.cited:
            first, last = cited.mark.start, cited.mark.end
            touching = [(mark, claim) for mark, claim in claims if mark.start < last and first < mark.end]
            checked = [mark for mark, claim in touching if claim.needs_support]
            if cited.why_nothing:
                by_record.append(Support(False, "record", cited.why_nothing))
            elif checked:
                by_record.append(Support(any(cited.source in mark.sources for mark in checked), "claims"))
            else:
                by_record.append(Support(None, "claims") if touching else None)
        left = [cited for cited, support in zip(grounds.cited, by_record, strict=True) if support is None]
        judged = iter(grounds.by_local_judge(left))
        supports = [next(judged) if support is None else support for support in by_record]
        pairs = zip(grounds.cited, supports, strict=True)
        items = [{**cited.details(), **support._asdict()} for cited, support in pairs]
        return share(items, "citations", "{} of {} cited references do not support what they mark")


class CitationRecall(CitationSupport):
    """Share of an answer's claims that need support and have it, 0..1.

    The engine's claims decide: a claim has support if it names an existing reference. Without claims, the
    local judge compares the sentences that claim something with the references cited in them. No score if
    there are claims but no text. Not applicable to a skipped answer, nor if nothing needs support.

    When to use: Check without a model whether every claim that needs support has it.
    """

    name = "citation_recall"

    def measure(self, grounds: Grounds) -> Score | None:
        """Counts the claims that have support; raises TooLargeError."""
        answer, marks, text = grounds.answer, grounds.marks, grounds.text
        items, lack = list[JsonObject](), "{} of {} claims have no support"
        if answer.claims:
            for i, (mark, claim) in enumerate(zip(marks.claims, answer.claims, strict=True)):
                if claim.needs_support:
                    support = Support(bool(mark.sources), "claims")
                    items.append({"claim": i, **mark.details(), **support._asdict()})
            if items and not text:
                return Score(None, reason="the answer has no text that could claim anything")
            return share(items, "claims", lack)
        if len(text) > prompts.MAX_SECTION:
            raise TooLargeError(f"an answer of more than {prompts.MAX_SECTION} characters")
        spans = sentences(text, grounds.language)
        if len(spans) > MAX_SENTENCES:
            raise TooLargeError(f"{len(spans)} sentences; at most {MAX_SENTENCES} are judged")
        valid = [mark for mark in marks.citations if mark.span.problem is None]
        cited: list[list[int]] = []
        for start, end in spans:
            over = [m for m in valid if (m.span.start or 0) < end and start < (m.span.end or 0)]
            cited.append(sorted({source for mark in over for source in mark.sources}))
        sources_of = [tuple(map(grounds.source_texts.__getitem__, sources)) for sources in cited]
        questions = [(text[a:b], sources) for (a, b), sources in zip(spans, sources_of, strict=True)]
        for (start, end), sources, verdict in zip(spans, cited, supported(questions), strict=True):
            support = _of_sentence(verdict)
            if support.supported is not None:
                span = {"start": start, "end": end, "references": list(map(str, sources))}
                items.append({**span, **support._asdict()})
        return share(items, "claims", lack)


def grounds_of(sample: Sample, pair: TurnPair) -> Grounds | None:
    """Returns an answer with its sources; None: skipped, or no engine's. Raises TooLargeError."""
    turn = pair.actual
    if turn is None or turn.grounded is None or was_skipped(turn):
        return None
    return Grounds(turn.grounded, marks_of(turn, turn.grounded), sample.conversation.language)


def share(items: Sequence[JsonObject], name: str, lack: str) -> Score | None:
    """Returns the share of supported items among those that claim something; None: there are none."""
    counted = [details for details in items if details["supported"] is not None]
    if not counted:
        return None
    unsupported, explanation = [details for details in counted if not details["supported"]], None
    if unsupported:
        first = f" The first: {unsupported[0]['reason']}" if unsupported[0]["reason"] else ""
        explanation = f"{lack.format(len(unsupported), len(counted))}.{first}"
    value = (len(counted) - len(unsupported)) / len(counted)
    return Score(value, explanation=explanation, details=listed(items, name))


class JudgedCitationPrecision(JudgedCriterion):
    """Share of the references in an answer's citations that support the marked text, 0..1.

    A reference that does not exist or marks no text is not judged: it supports nothing. Not
    applicable to a skipped answer, nor without citations. A passage that claims nothing counts as supported.

    When to use: Like `citation_precision`, with a model instead of rules.
    """

    name = "judged_citation_precision"
    needs = "answers of a search engine with citations"
    severity_reason = "unsupported"
    rests_on = ("words",)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        try:
            grounds = grounds_of(sample, pair)
        except TooLargeError as error:
            return Score(None, reason=str(error))
        if grounds is None or not grounds.cited:
            return None
        asked = [source for source in grounds.cited if not source.why_nothing]
        if not asked:
            return Score(0.0, explanation=grounds.cited[0].why_nothing)
        if len(asked) > MAX_SENTENCES:
            return Score(None, f"{len(asked)} cited references; at most {MAX_SENTENCES} are judged")
        sections = [prompts.Section("request", pair.actual.user or "" if pair.actual else "")]
        for number in sorted({source.source or 0 for source in asked}):
            sections.append(prompts.Section(f"source {number}", grounds.source_texts[number]))
        for number, source in enumerate(asked, 1):
            name = f"passage {number}, from source {source.source}"
            passage = grounds.text[source.mark.span.start : source.mark.span.end]
            sections.append(prompts.Section(name, passage))
        prompt = prompts.task_prompt("citation_precision/2", sections)
        items: list[JsonObject] = [source.details() for source in grounds.cited]
        for item, source in zip(items, grounds.cited, strict=True):
            if source.why_nothing:
                item |= {"score": 0.0, "reason": source.why_nothing}

        def local_reply() -> prompts.StatementReply:  # leaves everything out if it is too much to compare
            try:
                supports = grounds.by_local_judge(asked)
            except TooLargeError:
                return prompts.StatementReply(verdicts=[])
            verdicts = []
            for number, support in enumerate(supports, 1):
                verdict: Literal["yes", "no"] = "no" if support.supported is False else "yes"
                fields = {"number": number, "quote": "", "reason": support.reason or ""}
                verdicts.append(prompts.StatementVerdict(**fields, verdict=verdict))
            return prompts.StatementReply(verdicts=verdicts)

        return await self._judge_items(ask, prompt, "citations", items, local_reply)


# Finds inconsistencies of an engine's answer that do not prevent scoring.

MISSING_TEXT = "MissingText"
UNKNOWN_REFERENCE = "UnknownReference"
NO_SOURCE = "CitationWithoutSource"
DUPLICATE = "DuplicateCitation"
OVERLAP = "OverlappingCitations"
OUT_OF_RANGE = "ScoreOutOfRange"


def found_problems(turn: Turn, answer: GroundedAnswer) -> Iterator[Problem]:
    """Yields the inconsistencies of an answer, one problem per kind; none for an unfinished answer."""
    if not answer.is_evaluable:
        return
    problems: defaultdict[str, list[str]] = defaultdict(list)
    marks = marks_of(turn, answer)
    if not turn.agent and not answer.skipped_reasons:
        problems[MISSING_TEXT].append("the answer has no text")
    for name, group in (("citations", marks.citations), ("groundingSupports", marks.claims)):
        for i, mark in enumerate(group):
            if kind := mark.span.problem:
                size = len(marks.text.data)
                problems[kind].append(f"{name}[{i}]: bytes {mark.start} to {mark.end} of {size}")
            for source in mark.unknown:
                problems[UNKNOWN_REFERENCE].append(f"{name}[{i}]: there is no reference {source[:40]!r}")
    for i, mark in enumerate(marks.citations):
        if not mark.sources and not mark.unknown:
            problems[NO_SOURCE].append(f"citations[{i}]: names no reference")
    places = [(c.start, c.end, i) for i, c in enumerate(marks.citations) if c.span.problem is None]
    meanings = [(c.start, c.end, frozenset((*c.sources, *c.unknown))) for c in marks.citations]
    furthest, holder = -1, -1
    for start, end, i in sorted(places):
        if start < furthest and meanings[i] == meanings[holder]:
            problems[DUPLICATE].append(f"citations[{i}]: equals citations[{holder}]")
        elif start < furthest:
            problems[OVERLAP].append(f"citations[{i}]: overlaps citations[{holder}]")
        if end >= furthest:
            furthest, holder = end, i
    for i, citation in enumerate(answer.citations):
        if len(set(citation.sources)) < len(citation.sources):
            problems[DUPLICATE].append(f"citations[{i}]: names a reference twice")
    scores = [("groundingScore", answer.grounding_score)]
    scores += [(f"groundingSupports[{i}].groundingScore", c.score) for i, c in enumerate(answer.claims)]
    scores += [(f"references[{i}].relevanceScore", r.relevance) for i, r in enumerate(answer.references)]
    for name, score in scores:
        if not is_score(score):
            problems[OUT_OF_RANGE].append(f"{name}: {score}")
    yield from (Problem.of(kind, messages) for kind, messages in problems.items())


def is_score(value: float | None) -> bool:
    """Returns whether a score is absent or in 0..1."""
    return value is None or 0 <= value <= 1
