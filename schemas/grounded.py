"""Canonical annotations of an answer engine: citations, claims, references, safety ratings.

Offsets count bytes of the answer's UTF-8 encoding; ranges are half open. They are stored as logged and
validated by `turnwise.transforms.answers.checks`.
"""

from collections.abc import Sequence

import msgspec

from turnwise.schemas.values import JsonObject

FAILED, SUCCEEDED = "FAILED", "SUCCEEDED"
UNFINISHED = ("IN_PROGRESS", "STREAMING")
_SHOWN = 3


class Citation(msgspec.Struct):
    """A range of the answer and its sources.

    Attributes:
        sources: Indexes of references, as decimal texts.
    """

    start: int = 0
    end: int = 0
    sources: list[str] = []


class GroundedClaim(msgspec.Struct):
    """A range of the answer with a claim, and its support.

    Attributes:
        score: Support score, 0..1; None: not stated.
        check_required: False: it needs no support; None: not stated.
        sources: Indexes of references, as decimal texts.
    """

    start: int = 0
    end: int = 0
    score: float | None = None
    check_required: bool | None = None
    sources: list[str] = []

    @property
    def needs_support(self) -> bool:
        """Whether the claim needs support."""
        return self.check_required is not False


class Reference(msgspec.Struct):
    """A source of the answer.

    Attributes:
        texts: Retrieved texts.
        data: Fields or metadata.
        relevance: Relevance to the query, 0..1: the highest of its texts; None: a text has none.
    """

    title: str | None = None
    uri: str | None = None
    document: str | None = None
    texts: list[str] = []
    data: JsonObject | None = None
    relevance: float | None = None


class GroundedStep(msgspec.Struct):
    """A step on the way to an answer.

    Attributes:
        state: SUCCEEDED, FAILED or IN_PROGRESS; None: not stated.
        actions: Number of its actions.
        observed: Number of its actions with an observation.
    """

    state: str | None = None
    description: str | None = None
    actions: int = 0
    observed: int = 0


class SafetyRating(msgspec.Struct):
    """Safety rating of the answer in one category.

    Attributes:
        category: HARM_CATEGORY_HATE_SPEECH and so on.
        probability: NEGLIGIBLE, LOW, MEDIUM or HIGH; None: not rated.
        severity: HARM_SEVERITY_NEGLIGIBLE, and so on; None: not rated.
        blocked: Whether the text was withheld because of this rating.
    """

    category: str = ""
    probability: str | None = None
    probability_score: float | None = None
    severity: str | None = None
    severity_score: float | None = None
    blocked: bool = False


class Problem(msgspec.Struct):
    """A problem of a record that does not prevent scoring.

    Attributes:
        kind: Type of the problem, such as `UnreadableField`.
        message: Path and description, one line.
        count: Number of problems of this kind.

    >>> import turnwise
    >>> finding = turnwise.Problem("UnreadPart", "exchanges[0].attachment: a picture")
    >>> log = turnwise.Conversation("c1", turns=[turnwise.Turn(user="Hi", agent="Hello", findings=[finding])])
    >>> [(row["stage"], row["error_type"]) for row in turnwise.evaluate(log).failures]
    [('check', 'UnreadPart')]
    """

    kind: str
    message: str
    count: int = 1

    @classmethod
    def of(cls, kind: str, messages: Sequence[str]) -> "Problem":
        """Combines problems of one kind; the message holds the first three."""
        more = f"; and {len(messages) - _SHOWN} more" if len(messages) > _SHOWN else ""
        return cls(kind, "; ".join(messages[:_SHOWN]) + more, len(messages))


class GroundedAnswer(msgspec.Struct):
    """Annotations of one answer.

    Attributes:
        state: SUCCEEDED, FAILED, IN_PROGRESS or STREAMING; None: not stated.
        grounding_score: Support of the whole answer by the references, 0..1; None: not checked.
        claims: Claims; empty: the engine states none.
        skipped_reasons: Reasons for a refusal in place of an answer.
        query_classes: Classes of the query (ADVERSARIAL_QUERY ...).
        problems: Problems found while reading.
        related_questions: Further questions that the engine suggests; empty: it states none.
        steps: Steps on the way to the answer; empty: it states none.
        unread: Parts of the answer of which something could not be read, such as `citations.sources`.
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
    related_questions: list[str] = []
    steps: list[GroundedStep] = []
    unread: list[str] = []

    @property
    def is_evaluable(self) -> bool:
        """Whether the answer is finished and did not fail."""
        return self.state != FAILED and self.state not in UNFINISHED

    def why_unread(self, *parts: str) -> str | None:
        """Returns why parts of the answer are not known in full; None: they were read.

        A part covers what is below it: `steps` covers `steps.state`.
        """
        for unread in self.unread:
            for part in parts:
                if f"{unread}.".startswith(f"{part}.") or f"{part}.".startswith(f"{unread}."):
                    return f"{unread} could not be read"
        return None

    @property
    def skipped_text(self) -> str:
        """The reasons for the refusal in one sentence."""
        return f"The answer was skipped: {', '.join(self.skipped_reasons[:_SHOWN])}."

    @property
    def tags(self) -> list[str]:
        """Distinct labels for slicing metrics: `skipped:REASON` and `query:CLASS`."""
        reasons = [f"skipped:{reason}" for reason in self.skipped_reasons]
        return list(dict.fromkeys(reasons + [f"query:{name}" for name in self.query_classes]))
