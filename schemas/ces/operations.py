"""Metadata of long-running operations, and requests about them."""

from pydantic import Field

from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Bool, Int32, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class ListOperationsRequest(ToolMessage):
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
