"""Requests and responses about the trend of criteria over runs."""

from pydantic import Field

from turnwise.schemas.ces.run_tools import RunSummary
from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Int32, Repeated, Text
from turnwise.schemas.values import no_items


class GetCriterionTrendRequest(ToolMessage):
    """Read the figures of a criterion, or of all, run after run."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    criterion: Text = ""
    """Name of the criterion; evaluation_status: the verdicts; absent: all."""
    app_version: Text = ""
    """Name or id of the only app version wanted; absent: all."""
    filter: Text = ""
    """Of the runs: by name, display_name (the run id), state, create_time and update_time."""
    page_size: Int32 = 0
    """Number of runs, at most 200."""
    page_token: Text = ""
    """nextPageToken of the page before."""


class TrendPoint(ToolMessage):
    """The figures of one criterion over one app version in one run."""

    RANGES = (
        ("pass_rate", 0, 1),
        ("pass_rate_low", 0, 1),
        ("pass_rate_high", 0, 1),
    )

    app_version_id: Text = ""
    """Id of the version; absent: the logs do not state it."""
    criterion: Text = ""
    """Name of the criterion."""
    level: Text = ""
    """turn, or conversation: scores of whole conversations; absent: nothing was measured."""
    gap: Text = ""
    """Why there is no value; it is not 0. Absent: there is one."""
    unit: Text = ""
    """score, seconds or count."""
    score_count: Int32 = 0
    """Scores, those without a value included."""
    scored_count: Int32 = 0
    """Scores with a value."""
    unscored_count: Int32 = 0
    """Scores without a value."""
    error_count: Int32 = 0
    """How often the criterion failed with an error."""
    pass_count: Int32 = 0
    """Scores with the outcome PASS."""
    fail_count: Int32 = 0
    """Scores with the outcome FAIL."""
    pass_rate: Double | None = None
    """Share of PASS in all outcomes; absent: there is no outcome."""
    pass_rate_low: Double | None = None
    """Lower bound with 95 % confidence (Wilson), as of independent scores."""
    pass_rate_high: Double | None = None
    """Upper bound."""
    mean: Double | None = None
    """Mean of the values."""
    mean_interval_low: Double | None = None
    """Lower bound with 95 % confidence (Student), as of independent values; absent: no spread was seen."""
    mean_interval_high: Double | None = None
    """Upper bound."""
    mean_low: Double | None = None
    """Mean if everything unscored had the lowest value of the scale; absent: it has none."""
    mean_high: Double | None = None
    """Mean if everything unscored had the highest value of the scale; absent: it has none."""
    stddev: Double | None = None
    """Standard deviation of the values; absent: fewer than two."""
    p50: Double | None = None
    """Median, of latencies only."""
    p90: Double | None = None
    """90th percentile, of latencies only."""
    p99: Double | None = None
    """99th percentile, of latencies only."""
    conversation_count: Int32 = 0
    """Conversations of the version in the run."""
    turn_count: Int32 = 0
    """Their turns."""


class TrendRun(ToolMessage):
    """A run, and what it measured."""

    run: RunSummary | None = None
    """The run. With another configDigest or judgeModel, it measured in another way."""
    gap: Text = ""
    """Why the run has no points: it has not ended, broke off, or kept no metrics; it is not 0."""
    points: Repeated[TrendPoint] = Field(default_factory=no_items)
    """By criterion, app version and level."""


class GetCriterionTrendResponse(ToolMessage):
    """A page of runs, the newest first."""

    runs: Repeated[TrendRun] = Field(default_factory=no_items)
    """The runs."""
    next_page_token: Text = ""
    """Reads older runs as pageToken; absent: this is the last page."""
