"""Discovery Engine's answers, and the sessions that hold them."""

from turnwise.schemas.proto import message as proto
from turnwise.schemas.proto.message import Message, OneOf, OpenEnum, Struct, Text, field


class ChunkContent(Message, inside="Answer.Reference.UnstructuredDocumentInfo"):
    """A cited chunk."""

    content: Text = field()
    page_identifier: Text = field()
    relevance_score: proto.Float32 | None = field("0..1.")
    blob_attachment_indexes: list[proto.Int64] = field("Into `blob_attachments`.")


class UnstructuredDocumentInfo(Message, inside="Answer.Reference"):
    """A document as a source."""

    document: Text = field()
    uri: Text = field()
    title: Text = field()
    chunk_contents: list[ChunkContent] = field()
    struct_data: Struct | None = field()


class DocumentMetadata(Message, inside="Answer.Reference.ChunkInfo"):
    """The document of a chunk."""

    document: Text = field()
    uri: Text = field()
    title: Text = field()
    page_identifier: Text = field()
    struct_data: Struct | None = field()


class ReferenceChunkInfo(Message, proto="Answer.Reference.ChunkInfo"):
    """A chunk of a document as a source."""

    chunk: Text = field()
    content: Text = field()
    relevance_score: proto.Float32 | None = field("0..1.")
    document_metadata: DocumentMetadata | None = field()
    blob_attachment_indexes: list[proto.Int64] = field("Into `blob_attachments`.")


class StructuredDocumentInfo(Message, inside="Answer.Reference"):
    """A record as a source."""

    document: Text = field()
    struct_data: Struct | None = field()
    title: Text = field()
    uri: Text = field()


class AnswerReference(Message, proto="Answer.Reference"):
    """One source."""

    unstructured_document_info: OneOf[UnstructuredDocumentInfo] = field()
    chunk_info: OneOf[ReferenceChunkInfo] = field()
    structured_document_info: OneOf[StructuredDocumentInfo] = field()


class AttachedBlob(Message, proto="Answer.BlobAttachment.Blob"):
    """Type and bytes of a blob."""

    mime_type: Text = field()
    data: proto.Bytes = field()


class AttributionType(OpenEnum):
    """Where a blob comes from."""

    ATTRIBUTION_TYPE_UNSPECIFIED, CORPUS, GENERATED = range(3)


class BlobAttachment(Message, inside="Answer"):
    """A binary that belongs to an answer."""

    data: AttachedBlob | None = field()
    attribution_type: AttributionType = field()


class StepState(OpenEnum):
    """State of a step."""

    STATE_UNSPECIFIED, IN_PROGRESS, FAILED, SUCCEEDED = range(4)


class SearchAction(Message, inside="Answer.Step.Action"):
    """A search."""

    query: Text = field()


class SnippetInfo(Message, inside="Answer.Step.Action.Observation.SearchResult"):
    """A snippet that was found."""

    snippet: Text = field()
    snippet_status: Text = field()


class SearchResultChunkInfo(Message, proto="Answer.Step.Action.Observation.SearchResult.ChunkInfo"):
    """A chunk that was found."""

    chunk: Text = field()
    content: Text = field()
    relevance_score: proto.Float32 | None = field()


class SearchResult(Message, inside="Answer.Step.Action.Observation"):
    """One search result."""

    document: Text = field()
    uri: Text = field()
    title: Text = field()
    snippet_info: list[SnippetInfo] = field()
    chunk_info: list[SearchResultChunkInfo] = field()
    struct_data: Struct | None = field()


class Observation(Message, inside="Answer.Step.Action"):
    """Results of a search."""

    search_results: list[SearchResult] = field()


class StepAction(Message, proto="Answer.Step.Action"):
    """An action with its result."""

    search_action: OneOf[SearchAction] = field()
    observation: Observation | None = field()


class AnswerStep(Message, proto="Answer.Step"):
    """A step on the way to an answer."""

    state: StepState = field()
    description: Text = field()
    thought: Text = field()
    actions: list[StepAction] = field()


class HarmCategory(OpenEnum):
    """Kind of harm."""

    (HARM_CATEGORY_UNSPECIFIED, HARM_CATEGORY_HATE_SPEECH, HARM_CATEGORY_DANGEROUS_CONTENT,
     HARM_CATEGORY_HARASSMENT, HARM_CATEGORY_SEXUALLY_EXPLICIT,
     HARM_CATEGORY_CIVIC_INTEGRITY) = range(6)  # fmt: skip


class HarmProbability(OpenEnum):
    """Probability of harm; the names have no prefix."""

    HARM_PROBABILITY_UNSPECIFIED, NEGLIGIBLE, LOW, MEDIUM, HIGH = range(5)


class HarmSeverity(OpenEnum):
    """Severity of harm; the names have a prefix."""

    (HARM_SEVERITY_UNSPECIFIED, HARM_SEVERITY_NEGLIGIBLE, HARM_SEVERITY_LOW, HARM_SEVERITY_MEDIUM,
     HARM_SEVERITY_HIGH) = range(5)  # fmt: skip


class AnswerSafetyRating(Message, proto="SafetyRating"):
    """Rating of one kind of harm."""

    category: HarmCategory = field()
    probability: HarmProbability = field()
    probability_score: proto.Float32 = field()
    severity: HarmSeverity = field()
    severity_score: proto.Float32 = field()
    blocked: proto.Bool = field("The text was withheld because of this rating.")


class AnswerState(OpenEnum):
    """State of an answer."""

    STATE_UNSPECIFIED, IN_PROGRESS, FAILED, SUCCEEDED, STREAMING = range(5)


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

    (TYPE_UNSPECIFIED, ADVERSARIAL_QUERY, NON_ANSWER_SEEKING_QUERY, JAIL_BREAKING_QUERY,
     NON_ANSWER_SEEKING_QUERY_V2, USER_DEFINED_CLASSIFICATION_QUERY) = range(6)  # fmt: skip


class QueryClassificationInfo(Message, inside="Answer.QueryUnderstandingInfo"):
    """Result of one query classifier."""

    type: QueryType = field()
    positive: proto.Bool = field()


class QueryUnderstandingInfo(Message, inside="Answer"):
    """Classification of the query."""

    query_classification_info: list[QueryClassificationInfo] = field()


class CitationSource(Message, inside="Answer"):
    """A pointer into the references."""

    reference_id: Text = field("Index into `references`, as a decimal.")


class AnswerCitation(Message, proto="Answer.Citation"):
    """A segment of the text and its sources."""

    start_index: proto.Int64 = field("First byte of `answer_text`.")
    end_index: proto.Int64 = field("The byte after the last.")
    sources: list[CitationSource] = field()


class GroundingSupport(Message, inside="Answer"):
    """A claim of the text and its evidence."""

    start_index: proto.Int64 = field("First byte of `answer_text`.")
    end_index: proto.Int64 = field("The byte after the last.")
    grounding_score: proto.Double | None = field("0..1; absent: no check was needed.")
    grounding_check_required: proto.Bool | None = field("False: neither score nor sources are given.")
    sources: list[CitationSource] = field()


class Answer(Message):
    """The answer to one query of a session."""

    name: Text = field()
    state: AnswerState = field()
    answer_text: Text = field("All byte offsets refer to its UTF-8 encoding.")
    grounding_score: proto.Double | None = field("0..1; absent: no grounding check ran.")
    citations: list[AnswerCitation] = field()
    grounding_supports: list[GroundingSupport] = field()
    references: list[AnswerReference] = field()
    blob_attachments: list[BlobAttachment] = field()
    related_questions: list[Text] = field()
    steps: list[AnswerStep] = field()
    query_understanding_info: QueryUnderstandingInfo | None = field()
    answer_skipped_reasons: list[AnswerSkippedReason] = field("Empty when there is a real answer.")
    create_time: proto.Timestamp | None = field()
    complete_time: proto.Timestamp | None = field()
    safety_ratings: list[AnswerSafetyRating] = field()


class Query(Message):
    """A question of a user."""

    text: OneOf[Text] = field()
    query_id: Text = field()


class SessionTurn(Message, proto="Session.Turn"):
    """A question and its answer."""

    query: Query | None = field()
    answer: Text = field("Name of the Answer.")
    detailed_answer: Answer | None = field("The Answer itself; only in a session read with its answers.")
    detailed_assist_answer: Struct | None = field("An AssistAnswer, kept as an object.")
    query_config: dict[Text, Text] = field()
    live: proto.Bool = field()


class SessionState(OpenEnum):
    """State of a session."""

    STATE_UNSPECIFIED, IN_PROGRESS = range(2)


class AnswerSession(Message, proto="Session"):
    """Questions and answers of one conversation."""

    name: Text = field()
    display_name: Text = field()
    state: SessionState = field()
    user_pseudo_id: Text = field()
    turns: list[SessionTurn] = field()
    labels: list[Text] = field()
    start_time: proto.Timestamp | None = field()
    end_time: proto.Timestamp | None = field()
    is_pinned: proto.Bool = field()
    pending_async_assist_operation_id: Text = field()
