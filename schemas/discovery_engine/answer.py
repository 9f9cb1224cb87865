"""Discovery Engine's Answer (v1beta)."""

from pydantic import Field

from turnwise.schemas.discovery_engine import (
    AnswerMessage,
    AnswerReference,
    AnswerSafetyRating,
    AnswerStep,
    BlobAttachment,
)
from turnwise.schemas.proto.fields import Bool, Double, Implicit, Int64, OpenEnum, Repeated, Text, Timestamp
from turnwise.schemas.values import no_items


class AnswerState(OpenEnum):
    """State of an answer."""

    STATE_UNSPECIFIED = 0
    IN_PROGRESS = 1
    FAILED = 2
    SUCCEEDED = 3
    STREAMING = 4


class AnswerSkippedReason(OpenEnum):
    """Reasons for a refusal."""

    ANSWER_SKIPPED_REASON_UNSPECIFIED = 0
    ADVERSARIAL_QUERY_IGNORED = 1
    NON_ANSWER_SEEKING_QUERY_IGNORED = 2
    OUT_OF_DOMAIN_QUERY_IGNORED = 3
    POTENTIAL_POLICY_VIOLATION = 4
    NO_RELEVANT_CONTENT = 5
    JAIL_BREAKING_QUERY_IGNORED = 6
    CUSTOMER_POLICY_VIOLATION = 7
    NON_ANSWER_SEEKING_QUERY_IGNORED_V2 = 8
    LOW_GROUNDED_ANSWER = 9
    USER_DEFINED_CLASSIFICATION_QUERY_IGNORED = 10
    UNHELPFUL_ANSWER = 11


class QueryType(OpenEnum):
    """Class of a query."""

    TYPE_UNSPECIFIED = 0
    ADVERSARIAL_QUERY = 1
    NON_ANSWER_SEEKING_QUERY = 2
    JAIL_BREAKING_QUERY = 3
    NON_ANSWER_SEEKING_QUERY_V2 = 4
    USER_DEFINED_CLASSIFICATION_QUERY = 5


class QueryClassificationInfo(AnswerMessage):
    """Result of one query classifier."""

    PROTO = "Answer.QueryUnderstandingInfo.QueryClassificationInfo"

    type: Implicit[QueryType] = QueryType(0)
    positive: Bool = False


class QueryUnderstandingInfo(AnswerMessage):
    """Classification of the query."""

    PROTO = "Answer.QueryUnderstandingInfo"

    query_classification_info: Repeated[QueryClassificationInfo] = Field(default_factory=no_items)


class CitationSource(AnswerMessage):
    """A pointer into the references."""

    PROTO = "Answer.CitationSource"

    reference_id: Text = ""
    """Index into `references`, as a decimal."""


class AnswerCitation(AnswerMessage):
    """A segment of the text and its sources."""

    PROTO = "Answer.Citation"

    start_index: Int64 = 0
    """First byte of `answer_text`."""
    end_index: Int64 = 0
    """The byte after the last."""
    sources: Repeated[CitationSource] = Field(default_factory=no_items)


class GroundingSupport(AnswerMessage):
    """A claim of the text and its evidence."""

    PROTO = "Answer.GroundingSupport"

    start_index: Int64 = 0
    """First byte of `answer_text`."""
    end_index: Int64 = 0
    """The byte after the last."""
    grounding_score: Double | None = None
    """0..1; absent: no check was needed."""
    grounding_check_required: Bool | None = None
    """False: neither score nor sources are given."""
    sources: Repeated[CitationSource] = Field(default_factory=no_items)


class Answer(AnswerMessage):
    """The answer to one query of a session."""

    name: Text = ""
    state: Implicit[AnswerState] = AnswerState(0)
    answer_text: Text = ""
    """All byte offsets refer to its UTF-8 encoding."""
    grounding_score: Double | None = None
    """0..1; absent: no grounding check ran."""
    citations: Repeated[AnswerCitation] = Field(default_factory=no_items)
    grounding_supports: Repeated[GroundingSupport] = Field(default_factory=no_items)
    references: Repeated[AnswerReference] = Field(default_factory=no_items)
    blob_attachments: Repeated[BlobAttachment] = Field(default_factory=no_items)
    related_questions: Repeated[Text] = Field(default_factory=no_items)
    steps: Repeated[AnswerStep] = Field(default_factory=no_items)
    query_understanding_info: QueryUnderstandingInfo | None = None
    answer_skipped_reasons: Repeated[AnswerSkippedReason] = Field(default_factory=no_items)
    """Empty when there is a real answer."""
    create_time: Timestamp | None = None
    complete_time: Timestamp | None = None
    safety_ratings: Repeated[AnswerSafetyRating] = Field(default_factory=no_items)
