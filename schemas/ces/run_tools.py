"""Requests and responses about evaluation runs."""

from pydantic import Field

from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Int32, Repeated, Text


class ListEvaluationRunsRequest(ToolMessage):
    """List the runs of an app."""

    parent: Text = ""
    """The app."""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    order_by: Text = ""


class RunSummary(ToolMessage):
    """A run in one app."""

    name: Text = ""
    run_id: Text = ""
    state: Text = ""
    """COMPLETED. RUNNING: it has not ended, or was killed: updateTime says when it wrote last. ERROR,
    CANCELLED: it broke off. UNKNOWN: an earlier version of turnwise wrote it."""
    error: Text = ""
    """Why it broke off."""
    exit_status: Int32 | None = None
    """0: it passed its gate; 1: it did not; absent: not known."""
    create_time: Text = ""
    """Start; absent: not known."""
    update_time: Text = ""
    """When it wrote last."""
    end_time: Text = ""
    day: Text = ""
    """Date of the run."""
    app_versions: Repeated[Text] = Field(default_factory=list)
    """Ids of the app versions with results."""
    criteria: Repeated[Text] = Field(default_factory=list)
    config_digest: Text = ""
    """The same where configs are equal."""
    judge: Text = ""
    judge_model: Text = ""
    cost: Double | None = None
    """Of the judge, for the whole run, at the prices of the config."""
    conversation_count: Int32 = 0
    result_count: Int32 = 0
    pass_count: Int32 = 0
    fail_count: Int32 = 0
    undecided_count: Int32 = 0
    lost_record_count: Int32 = 0
    """Records and conversations that could not be read or scored; get_failures lists them."""


class ListEvaluationRunsResponse(ToolMessage):
    """A page of runs."""

    evaluation_runs: Repeated[RunSummary] = Field(default_factory=list)
    next_page_token: Text = ""
