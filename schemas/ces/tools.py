"""Requests and responses of tools that extend the CES evaluation service."""

from pydantic import Field

from turnwise.schemas.ces.aggregates import MetricsByAppVersion
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.requests import (
    GetEvaluationRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
)
from turnwise.schemas.proto.fields import Bool, Double, Implicit, Int32, OpenEnum, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message


class ToolMessage(Message):
    """Base of turnwise's own messages."""

    PACKAGE = "turnwise"


class UpdateEvaluationTool(ToolMessage):
    """Change a case. The mask may contain either spelling of a name."""

    evaluation: Evaluation | None = None
    update_mask: Text = ""


class GetEvaluationTool(GetEvaluationRequest):
    """Read a case, or parts of it."""

    PACKAGE = "turnwise"

    last_ten_results: Bool = False
    read_mask: Text = ""
    """Paths of the requested parts; `*`: everything; absent: all except large fields."""


class ListEvaluationsTool(ListEvaluationsRequest):
    """List the cases of an app, or parts of them."""

    PACKAGE = "turnwise"

    read_mask: Text = ""


class ListEvaluationResultsTool(ListEvaluationResultsRequest):
    """List the results of a case, or parts of them."""

    PACKAGE = "turnwise"

    read_mask: Text = ""


class CompareAppVersionsRequest(ToolMessage):
    """Compare the results of two versions of an app."""

    parent: Text = ""
    """The app."""
    base_version: Text = ""
    """Name or id of an app version."""
    candidate_version: Text = ""
    evaluation_filter: Text = ""
    page_size: Int32 = 0
    page_token: Text = ""
    read_mask: Text = ""


class VersionSummary(ToolMessage):
    """The results of a version."""

    app_version_id: Text = ""
    evaluation_count: Int32 = 0
    """Cases that have a result."""
    pass_count: Int32 = 0
    fail_count: Int32 = 0
    undecided_count: Int32 = 0
    pass_rate: Double | None = None
    """0..1, of the results with a verdict."""
    pass_rate_low: Double | None = None
    """Lower bound with 95 % confidence (Wilson)."""
    pass_rate_high: Double | None = None
    metrics: MetricsByAppVersion | None = None


class Change(OpenEnum):
    """Direction in which a case's share of passed results changed."""

    CHANGE_UNSPECIFIED = 0
    REGRESSED = 1
    IMPROVED = 2


class VersionChange(ToolMessage):
    """A case whose share of passed results differs between two versions."""

    PROTO = "EvaluationChange"

    evaluation: Text = ""
    display_name: Text = ""
    change: Implicit[Change] = Change(0)
    base_pass_count: Int32 = 0
    base_fail_count: Int32 = 0
    candidate_pass_count: Int32 = 0
    candidate_fail_count: Int32 = 0


class VersionVerdict(ToolMessage):
    """What may be said of the candidate against the base: the verdicts, paired by case."""

    word: Text = ""
    """`better`, `worse`, `not worse`, `same` or `cannot tell`."""
    sentence: Text = ""
    """The same as one sentence, with what would have been seen."""
    pair_count: Int32 = 0
    """Cases with a verdict on both sides."""
    difference: Double | None = None
    """Pass rate of the candidate minus that of the base over the pairs, -1..1."""
    difference_low: Double | None = None
    """Lower bound with 95 % confidence."""
    difference_high: Double | None = None
    p_value: Double | None = None
    detectable_difference: Double | None = None
    """Smallest difference that would have been seen with a power of 80 %."""
    needed_pair_count: Int32 = 0
    """Pairs that the difference needs to be seen with a power of 80 %; 0: there is none."""
    word_if_undecided_fail: Text = ""
    """The word if undecided results passed in the base and failed in the candidate; empty: there is none."""
    word_if_undecided_pass: Text = ""


class CompareAppVersionsResponse(ToolMessage):
    """Summaries of two versions, and the changed cases, regressed ones first."""

    base: VersionSummary | None = None
    candidate: VersionSummary | None = None
    verdict: VersionVerdict | None = None
    changes: Repeated[VersionChange] = Field(default_factory=list)
    regressed_count: Int32 = 0
    improved_count: Int32 = 0
    unchanged_count: Int32 = 0
    only_base_count: Int32 = 0
    """Cases with a verdict for the base version alone."""
    only_candidate_count: Int32 = 0
    next_page_token: Text = ""


class GetFailuresRequest(ToolMessage):
    """List the failures of reading, parsing, matching and scoring."""

    parent: Text = ""
    """The app."""
    page_size: Int32 = 0
    page_token: Text = ""
    filter: Text = ""
    read_mask: Text = ""


class RunFailure(ToolMessage):
    """One failure of a run; the run continues."""

    name: Text = ""
    evaluation_run: Text = ""
    update_time: Timestamp | None = None
    stage: Text = ""
    """`read`, `parse`, `parse_case`, `match` or `score`."""
    error_type: Text = ""
    message: Text = ""
    source: Text = ""
    """File that the record came from."""
    position: Int32 = 0
    """1-based line or index in it."""
    record: Text = ""
    """The record's text, at most 64 KiB of it."""
    conversation_id: Text = ""
    criterion: Text = ""
    app_version: Text = ""
    turn_index: Int32 | None = None
    """0-based; absent: the whole conversation."""


class GetFailuresResponse(ToolMessage):
    """A page of failures, the newest first."""

    failures: Repeated[RunFailure] = Field(default_factory=list)
    next_page_token: Text = ""
