"""Metadata of long-running operations, and requests about them."""

from pydantic import Field

from turnwise.schemas.ces.status import Status
from turnwise.schemas.proto.any import AnyMessage
from turnwise.schemas.proto.fields import Bool, Int32, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class LongRunningMessage(Message):
    """Base of the messages of google.longrunning."""

    PACKAGE = "google.longrunning"


class Operation(LongRunningMessage):
    """Work that goes on after its request was answered."""

    ONEOFS = (("error", "response"),)

    name: Text = ""
    """projects/P/locations/L/operations/O."""
    metadata: AnyMessage | None = None
    """How it stands."""
    done: Bool = False
    """Whether it ended."""
    error: Status | None = None
    """Why it failed."""
    response: AnyMessage | None = None
    """What it answers."""


class GetOperationRequest(LongRunningMessage):
    """Read an operation."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the operation."""


class CancelOperationRequest(LongRunningMessage):
    """Ask an operation to stop."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the operation."""


class DeleteOperationRequest(LongRunningMessage):
    """Delete an operation that is done."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the operation."""


class ListOperationsRequest(LongRunningMessage):
    """List the operations of a location."""

    REQUIRED = ("name",)

    name: Text = ""
    """projects/P/locations/L."""
    filter: Text = ""
    """By name, app, method, done and create_time."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    return_partial_success: Bool = False
    """Whether a list that is not whole is wanted; it always is."""


class ListOperationsResponse(LongRunningMessage):
    """A page of operations."""

    operations: Repeated[Operation] = Field(default_factory=no_items)
    """The operations."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""


class OperationMetadata(Message):
    """How an export of evaluations stands."""

    create_time: Timestamp | None = None
    """When it was asked for."""
    end_time: Timestamp | None = None
    """When it ended."""
    status_message: Text = ""
    """How it stands."""
    requested_cancellation: Bool = False
    """Whether it was asked to stop."""


class ImportEvaluationsOperationMetadata(Message):
    """How an import stands."""

    create_time: Timestamp | None = None
    """When it was asked for."""
    end_time: Timestamp | None = None
    """When it ended."""
    status_message: Text = ""
    """How it stands."""


class RunEvaluationOperationMetadata(Message):
    """How a run stands."""

    evaluations: Repeated[Text] = Field(default_factory=no_items)
    """The evaluations that are run."""
    evaluation_run: Text = ""
    """The run that is written."""
    create_time: Timestamp | None = None
    """When it was asked for."""
    end_time: Timestamp | None = None
    """When it ended."""
    verb: Text = ""
    """What is done."""
    cancel_requested: Bool = False
    """Whether it was asked to stop."""


class GenerateEvaluationOperationMetadata(Message):
    """Nothing is said of it."""


class DeleteEvaluationRunOperationMetadata(Message):
    """Nothing is said of it."""


class ExportEvaluationRunsOperationMetadata(Message):
    """Nothing is said of it."""


class ExportEvaluationResultsOperationMetadata(Message):
    """Nothing is said of it."""
