"""Parts of Discovery Engine's Answer: references, blobs, steps and safety ratings."""

from pydantic import Field

from turnwise.schemas.proto.fields import (
    Bool,
    Bytes,
    Float32,
    Implicit,
    Int64,
    OpenEnum,
    Repeated,
    Struct,
    Text,
)
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


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
