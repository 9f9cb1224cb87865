"""Finds inconsistencies of an engine's answer that do not prevent scoring."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.conversation import GroundedAnswer, Problem, Turn
from turnwise.transforms.answers.annotations import Mark, Marks, marks_of

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
