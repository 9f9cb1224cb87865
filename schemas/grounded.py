"""What an answer engine says of its own answer: citations, claims, sources, ratings. Canonical.

Offsets count bytes of the answer's UTF-8 encoding; ranges are half open. They are kept as they were logged,
whether or not they make sense (`turnwise.transforms.answers.checks` says).
"""

from collections.abc import Sequence

import msgspec

from turnwise.schemas.values import JsonObject

FAILED = "FAILED"
UNFINISHED = ("IN_PROGRESS", "STREAMING")
_SHOWN = 3


class Citation(msgspec.Struct):
    """A range of the answer and its sources.

    Attributes:
        sources: Indexes into the references, as decimals.
    """

    start: int = 0
    end: int = 0
    sources: list[str] = []


class GroundedClaim(msgspec.Struct):
    """A range of the answer that claims something, and what supports it.

    Attributes:
        score: How well it is supported, 0..1; None: not told.
        check_required: False: it needs no support; None: not told.
        sources: Indexes into the references, as decimals.
    """

    start: int = 0
    end: int = 0
    score: float | None = None
    check_required: bool | None = None
    sources: list[str] = []

    @property
    def needs_support(self) -> bool:
        """Whether it was, or should have been, checked."""
        return self.check_required is not False


class Reference(msgspec.Struct):
    """A source that the answer was made from.

    Attributes:
        texts: What of it the engine had before it.
        data: Its fields, or its metadata.
    """

    title: str | None = None
    uri: str | None = None
    document: str | None = None
    texts: list[str] = []
    data: JsonObject | None = None


class SafetyRating(msgspec.Struct):
    """How harmful the answer is in one category.

    Attributes:
        category: HARM_CATEGORY_HATE_SPEECH and so on.
        probability: NEGLIGIBLE, LOW, MEDIUM or HIGH; None: not rated.
        severity: HARM_SEVERITY_NEGLIGIBLE, and so on; None: not rated.
        blocked: The text was withheld because of this rating.
    """

    category: str = ""
    probability: str | None = None
    probability_score: float | None = None
    severity: str | None = None
    severity_score: float | None = None
    blocked: bool = False


class Problem(msgspec.Struct):
    """Something wrong with a record that can be scored all the same.

    Attributes:
        kind: One word, such as `UnreadableField`.
        message: Where and what, one line.
        count: How many there are of the kind.
    """

    kind: str
    message: str
    count: int = 1

    @classmethod
    def of(cls, kind: str, messages: Sequence[str]) -> "Problem":
        """Returns several problems of a kind as one; the first few of them stand in its message."""
        more = f"; and {len(messages) - _SHOWN} more" if len(messages) > _SHOWN else ""
        return cls(kind, "; ".join(messages[:_SHOWN]) + more, len(messages))


class GroundedAnswer(msgspec.Struct):
    """An answer's account of itself.

    Attributes:
        state: SUCCEEDED, FAILED, IN_PROGRESS or STREAMING; None: not told.
        grounding_score: How well the references support the whole answer, 0..1; None: not checked.
        claims: Empty: the engine tells none.
        skipped_reasons: Why there is no real answer; the text is then a refusal.
        query_classes: What the question was found to be (ADVERSARIAL_QUERY ...).
        problems: What the reader could not read.
    """

    state: str | None = None
    grounding_score: float | None = None
    citations: list[Citation] = []
    claims: list[GroundedClaim] = []
    references: list[Reference] = []
    safety_ratings: list[SafetyRating] = []
    skipped_reasons: list[str] = []
    query_classes: list[str] = []
    problems: list[Problem] = []

    @property
    def is_evaluable(self) -> bool:
        """Whether there is an answer that can be evaluated."""
        return self.state != FAILED and self.state not in UNFINISHED

    @property
    def skipped_text(self) -> str:
        """Why there is no real answer, in one sentence."""
        return f"The answer was skipped: {', '.join(self.skipped_reasons[:_SHOWN])}."

    @property
    def tags(self) -> list[str]:
        """Labels to slice metrics by: `skipped:REASON` and `query:CLASS`, each once."""
        reasons = [f"skipped:{reason}" for reason in self.skipped_reasons]
        return list(dict.fromkeys(reasons + [f"query:{name}" for name in self.query_classes]))
