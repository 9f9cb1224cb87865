"""Discovery Engine's answers, and the sessions that hold them."""

from pydantic import Field

from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    Bool,
    Bytes,
    Double,
    Float32,
    Implicit,
    Int64,
    Map,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)


class AnswerMessage(Message):
    """Base of the messages of Discovery Engine."""

    PACKAGE = "google.cloud.discoveryengine.v1beta"


class ChunkContent(AnswerMessage):
    """A cited chunk."""

    PROTO = "Answer.Reference.UnstructuredDocumentInfo.ChunkContent"

    content: Text = ""
    page_identifier: Text = ""
    relevance_score: Float32 | None = None
    """0..1."""
    blob_attachment_indexes: Repeated[Int64] = Field(default_factory=no_items)
    """Into `blob_attachments`."""


class UnstructuredDocumentInfo(AnswerMessage):
    """A document as a source."""

    PROTO = "Answer.Reference.UnstructuredDocumentInfo"

    document: Text = ""
    uri: Text = ""
    title: Text = ""
    chunk_contents: Repeated[ChunkContent] = Field(default_factory=no_items)
    struct_data: Struct | None = None


class DocumentMetadata(AnswerMessage):
    """The document of a chunk."""

    PROTO = "Answer.Reference.ChunkInfo.DocumentMetadata"

    document: Text = ""
    uri: Text = ""
    title: Text = ""
    page_identifier: Text = ""
    struct_data: Struct | None = None


class ReferenceChunkInfo(AnswerMessage):
    """A chunk of a document as a source."""

    PROTO = "Answer.Reference.ChunkInfo"

    chunk: Text = ""
    content: Text = ""
    relevance_score: Float32 | None = None
    """0..1."""
    document_metadata: DocumentMetadata | None = None
    blob_attachment_indexes: Repeated[Int64] = Field(default_factory=no_items)
    """Into `blob_attachments`."""


class StructuredDocumentInfo(AnswerMessage):
    """A record as a source."""

    PROTO = "Answer.Reference.StructuredDocumentInfo"

    document: Text = ""
    struct_data: Struct | None = None
    title: Text = ""
    uri: Text = ""


class AnswerReference(AnswerMessage):
    """One source."""

    PROTO = "Answer.Reference"
    ONEOFS = (("unstructured_document_info", "chunk_info", "structured_document_info"),)

    unstructured_document_info: UnstructuredDocumentInfo | None = None
    chunk_info: ReferenceChunkInfo | None = None
    structured_document_info: StructuredDocumentInfo | None = None


class AttachedBlob(AnswerMessage):
    """Type and bytes of a blob."""

    PROTO = "Answer.BlobAttachment.Blob"

    mime_type: Text = ""
    data: Bytes = ""


class AttributionType(OpenEnum):
    """Where a blob comes from."""

    ATTRIBUTION_TYPE_UNSPECIFIED = 0
    CORPUS = 1
    GENERATED = 2


class BlobAttachment(AnswerMessage):
    """A binary that belongs to an answer."""

    PROTO = "Answer.BlobAttachment"

    data: AttachedBlob | None = None
    attribution_type: Implicit[AttributionType] = AttributionType(0)


class StepState(OpenEnum):
    """State of a step."""

    STATE_UNSPECIFIED = 0
    IN_PROGRESS = 1
    FAILED = 2
    SUCCEEDED = 3


class SearchAction(AnswerMessage):
    """A search."""

    PROTO = "Answer.Step.Action.SearchAction"

    query: Text = ""


class SnippetInfo(AnswerMessage):
    """A snippet that was found."""

    PROTO = "Answer.Step.Action.Observation.SearchResult.SnippetInfo"

    snippet: Text = ""
    snippet_status: Text = ""


class SearchResultChunkInfo(AnswerMessage):
    """A chunk that was found."""

    PROTO = "Answer.Step.Action.Observation.SearchResult.ChunkInfo"

    chunk: Text = ""
    content: Text = ""
    relevance_score: Float32 | None = None


class SearchResult(AnswerMessage):
    """One search result."""

    PROTO = "Answer.Step.Action.Observation.SearchResult"

    document: Text = ""
    uri: Text = ""
    title: Text = ""
    snippet_info: Repeated[SnippetInfo] = Field(default_factory=no_items)
    chunk_info: Repeated[SearchResultChunkInfo] = Field(default_factory=no_items)
    struct_data: Struct | None = None


class Observation(AnswerMessage):
    """Results of a search."""

    PROTO = "Answer.Step.Action.Observation"

    search_results: Repeated[SearchResult] = Field(default_factory=no_items)


class StepAction(AnswerMessage):
    """An action with its result."""

    PROTO = "Answer.Step.Action"
    ONEOFS = (("search_action",),)

    search_action: SearchAction | None = None
    observation: Observation | None = None


class AnswerStep(AnswerMessage):
    """A step on the way to an answer."""

    PROTO = "Answer.Step"

    state: Implicit[StepState] = StepState(0)
    description: Text = ""
    thought: Text = ""
    actions: Repeated[StepAction] = Field(default_factory=no_items)


class HarmCategory(OpenEnum):
    """Kind of harm."""

    HARM_CATEGORY_UNSPECIFIED = 0
    HARM_CATEGORY_HATE_SPEECH = 1
    HARM_CATEGORY_DANGEROUS_CONTENT = 2
    HARM_CATEGORY_HARASSMENT = 3
    HARM_CATEGORY_SEXUALLY_EXPLICIT = 4
    HARM_CATEGORY_CIVIC_INTEGRITY = 5


class HarmProbability(OpenEnum):
    """Probability of harm; the names have no prefix."""

    HARM_PROBABILITY_UNSPECIFIED = 0
    NEGLIGIBLE = 1
    LOW = 2
    MEDIUM = 3
    HIGH = 4


class HarmSeverity(OpenEnum):
    """Severity of harm; the names have a prefix."""

    HARM_SEVERITY_UNSPECIFIED = 0
    HARM_SEVERITY_NEGLIGIBLE = 1
    HARM_SEVERITY_LOW = 2
    HARM_SEVERITY_MEDIUM = 3
    HARM_SEVERITY_HIGH = 4


class AnswerSafetyRating(AnswerMessage):
    """Rating of one kind of harm."""

    PROTO = "SafetyRating"

    category: Implicit[HarmCategory] = HarmCategory(0)
    probability: Implicit[HarmProbability] = HarmProbability(0)
    probability_score: Float32 = 0.0
    severity: Implicit[HarmSeverity] = HarmSeverity(0)
    severity_score: Float32 = 0.0
    blocked: Bool = False
    """The text was withheld because of this rating."""


# Discovery Engine's Answer (v1beta).


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


# Discovery Engine's sessions of questions and Answers (v1beta).


class Query(AnswerMessage):
    """A question of a user."""

    ONEOFS = (("text",),)

    text: Text | None = None
    query_id: Text = ""


class SessionTurn(AnswerMessage):
    """A question and its answer."""

    PROTO = "Session.Turn"

    query: Query | None = None
    answer: Text = ""
    """Name of the Answer."""
    detailed_answer: Answer | None = None
    """The Answer itself; only where the session was read with its answers."""
    detailed_assist_answer: Struct | None = None
    """An AssistAnswer, kept as an object."""
    query_config: Map[Text] = Field(default_factory=dict)
    live: Bool = False


class SessionState(OpenEnum):
    """State of a session."""

    STATE_UNSPECIFIED = 0
    IN_PROGRESS = 1


class AnswerSession(AnswerMessage):
    """Questions and answers of one conversation."""

    PROTO = "Session"

    name: Text = ""
    display_name: Text = ""
    state: Implicit[SessionState] = SessionState(0)
    user_pseudo_id: Text = ""
    turns: Repeated[SessionTurn] = Field(default_factory=no_items)
    labels: Repeated[Text] = Field(default_factory=no_items)
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    is_pinned: Bool = False
    pending_async_assist_operation_id: Text = ""


class AnswerQueryResponse(AnswerMessage):
    """Reply of the service to a question."""

    answer: Answer | None = None
    session: AnswerSession | None = None
    answer_query_token: Text = ""
