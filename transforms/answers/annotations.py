"""Resolves the ranges and references of an answer's citations and claims."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import Citation, GroundedAnswer, GroundedClaim, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.text.cleaning import TextRange, Utf8Text

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
