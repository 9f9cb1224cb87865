"""Requests and responses of the evaluation service."""

from pydantic import Field

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.conversations import ConversationSource
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.ces.runs import EvaluationRun
from turnwise.schemas.proto.fields import (
    Bool,
    Bytes,
    FieldMask,
    Implicit,
    Int32,
    Map,
    OpenEnum,
    Repeated,
    Text,
)
from turnwise.schemas.proto.json import Message


class UpdateEvaluationRequest(Message):
    """Change a case."""

    evaluation: Evaluation | None = None
    update_mask: FieldMask | None = None
    """Absent: all fields."""


class CreateEvaluationRequest(Message):
    """Add a case to an app."""

    parent: Text = ""
    evaluation_id: Text = ""
    """Last part of its name; absent: generated."""
    evaluation: Evaluation | None = None


class ListEvaluationsRequest(Message):
    """List the cases of an app."""

    parent: Text = ""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    """Superseded by the other two."""
    evaluation_filter: Text = ""
    evaluation_run_filter: Text = ""
    """On the runs of a case."""
    order_by: Text = ""
    """`name`, `create_time` or `update_time`, which is the default; times from the newest on."""
    last_ten_results: Bool = False


class ListEvaluationsResponse(Message):
    """A page of cases."""

    evaluations: Repeated[Evaluation] = Field(default_factory=list)
    next_page_token: Text = ""


class GetEvaluationRequest(Message):
    """Read a case."""

    name: Text = ""


class GetEvaluationResultRequest(Message):
    """Read a result."""

    name: Text = ""


class ListEvaluationResultsRequest(Message):
    """List the results of a case."""

    parent: Text = ""
    """A case, or `.../evaluations/-` for all."""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    order_by: Text = ""


class ListEvaluationResultsResponse(Message):
    """A page of results."""

    evaluation_results: Repeated[EvaluationResult] = Field(default_factory=list)
    next_page_token: Text = ""


class DeleteEvaluationRequest(Message):
    """Delete a case."""

    name: Text = ""
    force: Bool = False
    """Also remove it from its datasets."""
    etag: Text = ""


class GenerateEvaluationType(OpenEnum):
    """Kind of the case to make; unspecified: GOLDEN."""

    EVALUATION_TYPE_UNSPECIFIED = 0
    GOLDEN = 1
    SCENARIO = 2


class GenerateEvaluationRequest(Message):
    """Make a case from a conversation."""

    conversation: Text = ""
    source: Implicit[ConversationSource] = ConversationSource(0)
    """Deprecated."""
    evaluation_type: Implicit[GenerateEvaluationType] = GenerateEvaluationType(0)


class ConversationList(Message):
    """Names of conversations."""

    PROTO = "ImportEvaluationsRequest.ConversationList"

    conversations: Repeated[Text] = Field(default_factory=list)


class ConflictResolutionStrategy(OpenEnum):
    """Handling of an existing case with the same id."""

    CONFLICT_RESOLUTION_STRATEGY_UNSPECIFIED = 0
    OVERWRITE = 1
    SKIP = 2
    DUPLICATE = 3


class ImportOptions(Message):
    """Handling of conflicts."""

    PROTO = "ImportEvaluationsRequest.ImportOptions"

    conflict_resolution_strategy: Implicit[ConflictResolutionStrategy] = ConflictResolutionStrategy(0)


class ImportEvaluationsRequest(Message):
    """Import cases from one source."""

    ONEOFS = (("conversation_list", "gcs_uri", "csv_content"),)

    conversation_list: ConversationList | None = None
    gcs_uri: Text | None = None
    csv_content: Bytes | None = None
    """Bytes of a CSV file."""
    parent: Text = ""
    import_options: ImportOptions | None = None


class ImportEvaluationsResponse(Message):
    """Imported resources."""

    evaluations: Repeated[Evaluation] = Field(default_factory=list)
    evaluation_results: Repeated[EvaluationResult] = Field(default_factory=list)
    evaluation_runs: Repeated[EvaluationRun] = Field(default_factory=list)
    error_messages: Repeated[Text] = Field(default_factory=list)
    import_failure_count: Int32 = 0
    evaluation_result_import_failure_count: Int32 = 0
    evaluation_run_import_failure_count: Int32 = 0


class ExportFormat(OpenEnum):
    """Form of an export; unspecified: JSON."""

    EXPORT_FORMAT_UNSPECIFIED = 0
    JSON = 1
    YAML = 2


class ExportOptions(Message):
    """Form and place of an export."""

    export_format: Implicit[ExportFormat] = ExportFormat(0)
    gcs_uri: Text = ""
    """Absent: the bytes come in the response."""


class ExportEvaluationsRequest(Message):
    """Export cases, results or both."""

    parent: Text = ""
    names: Repeated[Text] = Field(default_factory=list)
    export_options: ExportOptions | None = None
    include_evaluation_results: Bool = False
    include_evaluations: Bool = False


class ExportEvaluationsResponse(Message):
    """The export."""

    ONEOFS = (("evaluations_content", "evaluations_uri"),)

    evaluations_content: Bytes | None = None
    evaluations_uri: Text | None = None
    failed_evaluations: Map[Text] = Field(default_factory=dict)
    """Name -> reason."""


class RunEvaluationResultMetricsRequest(Message):
    """Compute the metrics of a result again."""

    evaluation_result_id: Text = ""
