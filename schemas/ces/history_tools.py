"""Requests and responses of the tools that show and restore revisions of evaluations."""

from pydantic import Field

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Bool, Int32, Repeated, Text, Timestamp
from turnwise.schemas.values import no_items


class ListEvaluationRevisionsRequest(ToolMessage):
    """List the revisions of an evaluation."""

    REQUIRED = ("name",)
    RANGES = (("page_size", 0, None),)

    name: Text = ""
    """Name of the evaluation."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but the content."""


class EvaluationRevision(ToolMessage):
    """One revision of an evaluation."""

    revision: Int32 = 0
    """Number of the revision, from 1."""
    etag: Text = ""
    """Its etag."""
    change_time: Timestamp | None = None
    """When it was made."""
    changed_by: Text = ""
    """Who made it."""
    update_mask: Text = ""
    """Mask of the update that made it; absent: all fields were written."""
    deleted: Bool = False
    """Whether the evaluation was deleted here; `evaluation` is what it held."""
    evaluation: Evaluation | None = None
    """Its content, without what is computed."""


class ListEvaluationRevisionsResponse(ToolMessage):
    """A page of revisions, the newest first."""

    revisions: Repeated[EvaluationRevision] = Field(default_factory=no_items)
    """The revisions."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""


class RestoreEvaluationRequest(ToolMessage):
    """Give an evaluation the content of one of its revisions."""

    REQUIRED = ("name", "revision")
    RANGES = (("revision", 1, None),)

    name: Text = ""
    """Name of the evaluation."""
    revision: Int32 = 0
    """Number of the revision."""
    etag: Text = ""
    """The etag that the evaluation must have; absent: any."""
