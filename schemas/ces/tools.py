"""Requests and responses of tools that extend the CES evaluation service."""

from pydantic import Field

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.resources import (
    GetEvaluationRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
)
from turnwise.schemas.proto.fields import Bool, Int32, Repeated, Text, Timestamp
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


class ToolMessage(Message):
    """Base of turnwise's own messages."""

    PACKAGE = "turnwise"


class UpdateEvaluationTool(ToolMessage):
    """Change a case. The mask may contain either spelling of a name."""

    evaluation: Evaluation | None = None
    update_mask: Text = ""
    """Comma-separated paths of the fields to change, in either spelling; absent: all fields."""


class GetEvaluationWithResults(GetEvaluationRequest):
    """Read a case, with its results."""

    PACKAGE = "turnwise"

    last_ten_results: Bool = False
    """Whether the ten newest results are added."""


class GetEvaluationTool(GetEvaluationWithResults):
    """Read a case, or parts of it; results in short."""

    PACKAGE = "turnwise"

    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but large ones."""


class ListEvaluationsTool(ListEvaluationsRequest):
    """List the cases of an app, or parts of them."""

    PACKAGE = "turnwise"

    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: a summary."""


class ListEvaluationResultsTool(ListEvaluationResultsRequest):
    """List the results of a case, or parts of them."""

    PACKAGE = "turnwise"

    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but large ones."""


class GetFailuresRequest(ToolMessage):
    """List the failures of reading, parsing, matching and scoring."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    filter: Text = ""
    """Condition, such as stage = match AND evaluation_run = nightly."""
    order_by: Text = ""
    """name (default), or update_time from the newest on."""
    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but the record."""


class RunFailure(ToolMessage):
    """One failure of a run; the run continues."""

    name: Text = ""
    """Name of the failure."""
    evaluation_run: Text = ""
    """Name of the run."""
    update_time: Timestamp | None = None
    """When it was written."""
    stage: Text = ""
    """`read`, `parse`, `parse_case`, `match` or `score`; `write`: results were replaced."""
    error_type: Text = ""
    """Class of the error."""
    message: Text = ""
    """What is wrong."""
    source: Text = ""
    """File that the record came from."""
    position: Int32 = 0
    """1-based line or index in it."""
    record: Text = ""
    """The record's text, at most 64 KiB of it."""
    conversation_id: Text = ""
    """Id of the conversation, if known."""
    criterion: Text = ""
    """Criterion that failed."""
    app_version: Text = ""
    """App version, if known."""
    turn_index: Int32 | None = None
    """0-based; absent: the whole conversation."""


class GetFailuresResponse(ToolMessage):
    """A page of failures."""

    failures: Repeated[RunFailure] = Field(default_factory=no_items)
    """The failures."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""
