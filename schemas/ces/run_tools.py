"""Requests and responses about evaluation runs."""

from pydantic import Field

from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Int32, Repeated, Text
from turnwise.schemas.values import no_items


class ListEvaluationRunsRequest(ToolMessage):
    """List the runs of an app."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    page_size: Int32 = 0
    """Number of runs, at most 200."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    filter: Text = ""
    """By name, display_name (the run id), state, create_time and update_time."""
    order_by: Text = ""
    """name (default), create_time or update_time; times from the newest on."""


class RunSummary(ToolMessage):
    """A run in one app."""

    name: Text = ""
    """`.../evaluationRuns/{run}`."""
    run_id: Text = ""
    """As `--run_id` had it."""
    state: Text = ""
    """COMPLETED. RUNNING: it has not ended, or was killed: updateTime says when it wrote last. ERROR,
    CANCELLED: it broke off."""
    error: Text = ""
    """Why it broke off."""
    repeat_state: Text = ""
    """RUNNING, ERROR or CANCELLED: a later execution of the run, which is not read; absent: there is none."""
    repeat_time: Text = ""
    """When that wrote last."""
    exit_status: Int32 | None = None
    """0: it passed its gate; 1: it did not; absent: not known."""
    create_time: Text = ""
    """Start; absent: not known."""
    update_time: Text = ""
    """When it wrote last."""
    end_time: Text = ""
    """End; absent: it has not ended, or it is not known."""
    day: Text = ""
    """Date of the run."""
    app_versions: Repeated[Text] = Field(default_factory=no_items)
    """Ids of the app versions with results."""
    criteria: Repeated[Text] = Field(default_factory=no_items)
    """Names of the criteria of the config."""
    config_digest: Text = ""
    """The same where configs are equal."""
    judge: Text = ""
    """Kind of judge; `none`: there was none."""
    judge_model: Text = ""
    """Model of the judge."""
    cost: Double | None = None
    """Of the judge, for the whole run, at the prices of the config."""
    conversation_count: Int32 = 0
    """Conversations in the app."""
    result_count: Int32 = 0
    """Their results."""
    pass_count: Int32 = 0
    """Results with the verdict PASS."""
    fail_count: Int32 = 0
    """Results with the verdict FAIL."""
    undecided_count: Int32 = 0
    """Results without a verdict."""
    lost_record_count: Int32 = 0
    """Records and conversations that could not be read or scored, and replaced results; get_failures lists
    them."""


class ListRunSummariesResponse(ToolMessage):
    """A page of runs."""

    evaluation_runs: Repeated[RunSummary] = Field(default_factory=no_items)
    """The runs."""
    next_page_token: Text = ""
    """Reads on as pageToken; absent: this is the last page."""
