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


class MeasuredDifference(ToolMessage):
    """The candidate less the base, by one measure, and what may be said of it."""

    word: Text = ""
    """`better`, `worse`, `not worse`, `same`, `cannot tell` or `differs`; absent: nothing may be said."""
    sentence: Text = ""
    """The same as one sentence, with what would have been seen."""
    measure: Text = ""
    """`pass_rate` or `mean`."""
    unit: Text = ""
    """`score`, `seconds` or `count`."""
    pair_count: Int32 = 0
    """Cases with a value on both sides."""
    base_value: Double | None = None
    """Pass rate or mean of the base over the pairs."""
    candidate_value: Double | None = None
    difference: Double | None = None
    """Value of the candidate minus that of the base."""
    difference_low: Double | None = None
    """Lower bound with 95 % confidence."""
    difference_high: Double | None = None
    p_value: Double | None = None
    """Adjusted (Holm) over the criteria that decide."""
    gained_count: Int32 = 0
    """Pairs that fail in the base and pass in the candidate."""
    lost_count: Int32 = 0
    """Pairs that pass in the base and fail in the candidate."""
    detectable_difference: Double | None = None
    """Smallest difference that would have been seen with a power of 80 %."""
    needed_pair_count: Int32 = 0
    """Pairs that the difference needs to be seen with a power of 80 %; 0: there is none."""
    word_if_undecided_fail: Text = ""
    """The word if what is undecided passed in the base and failed in the candidate; empty: there is none."""
    word_if_undecided_pass: Text = ""


class CriterionDifference(MeasuredDifference):
    """What may be said of the candidate against the base by one criterion."""

    criterion: Text = ""


class CriterionNotCompared(ToolMessage):
    """A criterion of which nothing may be said."""

    criterion: Text = ""
    """`evaluation_status`: the verdicts."""
    reason: Text = ""


class VersionVerdict(MeasuredDifference):
    """What `turnwise compare --store` says of the candidate against the base.

    Word, sentence and figures are those of the verdicts.
    """

    refusal: Text = ""
    """Why the versions are not compared, such as another judge; every other field is absent then."""
    paired_by: Text = ""
    """`eval_id`, `conversation_id`, `task` or `nothing` (two groups)."""
    changed_case_count: Int32 = 0
    """Cases left out, because the versions were not held against the same expectation."""
    changed_cases: Repeated[Text] = Field(default_factory=list)
    """The first of them."""
    base_only_case_count: Int32 = 0
    """Cases of the base alone."""
    candidate_only_case_count: Int32 = 0
    base_conversation_count: Int32 = 0
    candidate_conversation_count: Int32 = 0
    base_undecided_count: Int32 = 0
    """Conversations without a verdict."""
    candidate_undecided_count: Int32 = 0
    base_lost_record_count: Int32 = 0
    """Records, conversations and cases that the runs of the base lost, whatever their version."""
    candidate_lost_record_count: Int32 = 0
    criteria: Repeated[CriterionDifference] = Field(default_factory=list)
    """By the other criteria that both versions have."""
    not_compared: Repeated[CriterionNotCompared] = Field(default_factory=list)
    notes: Repeated[Text] = Field(default_factory=list)
    """What must be read before believing the figures."""


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
    """`read`, `parse`, `parse_case`, `match` or `score`; `write`: results were replaced."""
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
