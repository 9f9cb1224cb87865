"""Citations and claims of an answer: where they stand, and which references they name."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import Turn
from turnwise.schemas.grounded import Citation, GroundedAnswer, GroundedClaim
from turnwise.schemas.values import JsonObject
from turnwise.transforms.text.offsets import TextRange, Utf8Text

LISTED = 200
"""So many things stand in the details of a score."""
_LONGEST_INDEX = 9


class Mark(NamedTuple):
    """A range of the answer that names references.

    Attributes:
        start: Its first byte, as logged.
        end: The byte after its last, as logged.
        place: Where that is.
        sources: Indexes of the references that it names and that exist, each once.
        unknown: What else it names.
    """

    start: int
    end: int
    place: TextRange
    sources: tuple[int, ...]
    unknown: tuple[str, ...]

    def overlaps(self, other: "Mark") -> bool:
        """Tells whether two ranges share a byte."""
        return self.start < other.end and other.start < self.end

    def offsets(self) -> JsonObject:
        """Returns where it stands, in code points (`start`, `end`; null: it is not valid) and in bytes."""
        place = {"start": self.place.start, "end": self.place.end}
        return {**place, "start_byte": self.start, "end_byte": self.end}

    def details(self) -> JsonObject:
        """Returns where it stands and what it names, for a score's details."""
        names = [*map(str, self.sources), *self.unknown]
        more = len(names) - LISTED
        return {
            **self.offsets(),
            "references": names[:LISTED],
            **({"more_references": more} if more > 0 else {}),
        }


def mark(text: Utf8Text, logged: Citation | GroundedClaim, references: int) -> Mark:
    """Returns where a citation or a claim stands, given the answer and the number of its references."""
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
    """The marks of an answer, in the order of the log."""

    text: Utf8Text
    citations: list[Mark]
    claims: list[Mark]


def marks_of(turn: Turn, answer: GroundedAnswer) -> Marks:
    """Returns where the citations and claims of a turn's answer stand."""
    text, count = Utf8Text(turn.agent or ""), len(answer.references)
    return Marks(
        text,
        [mark(text, citation, count) for citation in answer.citations],
        [mark(text, claim, count) for claim in answer.claims],
    )


def listed(details: Sequence[JsonObject], name: str) -> JsonObject:
    """Returns the first details under a name, and how many more there are."""
    more = len(details) - LISTED
    return {name: list(details[:LISTED]), **({"not_listed": more} if more > 0 else {})}
