"""Requests of the import and export of evaluations, results and runs."""

from pydantic import Field

from turnwise.schemas.proto.fields import Bool, Bytes, Implicit, OpenEnum, Repeated, Text
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class ExportFormat(OpenEnum):
    """Form of the files of an export; unspecified: JSON."""

    EXPORT_FORMAT_UNSPECIFIED = 0
    JSON = 1
    YAML = 2


class ExportOptions(Message):
    """Form and place of an export."""

    export_format: Implicit[ExportFormat] = ExportFormat(0)
    """JSON or YAML."""
    gcs_uri: Text = ""
    """Folder that the export is written to; absent: it is part of the response."""


class ExportEvaluationsRequest(Message):
    """Export evaluations, their results, or both."""

    REQUIRED = ("parent", "names")

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    names: Repeated[Text] = Field(default_factory=no_items)
    """Names of the evaluations."""
    export_options: ExportOptions | None = None
    """Form and place."""
    include_evaluation_results: Bool = False
    """Whether their results are exported."""
    include_evaluations: Bool = False
    """Whether the evaluations are exported."""


class ExportEvaluationResultsRequest(Message):
    """Export results of an evaluation."""

    REQUIRED = ("parent", "names")

    parent: Text = ""
    """The evaluation."""
    names: Repeated[Text] = Field(default_factory=no_items)
    """Names of the results."""
    export_options: ExportOptions | None = None
    """Form and place."""


class ExportEvaluationRunsRequest(Message):
    """Export evaluation runs."""

    REQUIRED = ("parent", "names")

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    names: Repeated[Text] = Field(default_factory=no_items)
    """Names of the runs."""
    export_options: ExportOptions | None = None
    """Form and place."""


class ConversationList(Message):
    """Conversations to make evaluations of."""

    PROTO = "ImportEvaluationsRequest.ConversationList"

    conversations: Repeated[Text] = Field(default_factory=no_items)
    """Names of conversations."""


class ConflictResolutionStrategy(OpenEnum):
    """What becomes of an evaluation whose id the app has already."""

    CONFLICT_RESOLUTION_STRATEGY_UNSPECIFIED = 0
    OVERWRITE = 1
    SKIP = 2
    DUPLICATE = 3


class ImportOptions(Message):
    """How evaluations are imported."""

    PROTO = "ImportEvaluationsRequest.ImportOptions"

    conflict_resolution_strategy: Implicit[ConflictResolutionStrategy] = ConflictResolutionStrategy(0)
    """What becomes of an evaluation whose id the app has already."""


class ImportEvaluationsRequest(Message):
    """Import evaluations from one source."""

    ONEOFS = (("conversation_list", "gcs_uri", "csv_content"),)
    NEEDS_ONE = True
    REQUIRED = ("parent",)

    conversation_list: ConversationList | None = None
    """Conversations of the store."""
    gcs_uri: Text | None = None
    """File or folder of evaluations, or a zip file of them."""
    csv_content: Bytes | None = None
    """A table of evaluations, as CSV."""
    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    import_options: ImportOptions | None = None
    """What becomes of conflicts."""


class GeneratedType(OpenEnum):
    """Kind of a generated evaluation; unspecified: GOLDEN."""

    EVALUATION_TYPE_UNSPECIFIED = 0
    GOLDEN = 1
    SCENARIO = 2
