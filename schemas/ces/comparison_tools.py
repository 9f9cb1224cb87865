"""Requests and responses of the tool that compares app versions."""

from pydantic import Field

from turnwise.schemas.ces.aggregates import MetricsByAppVersion
from turnwise.schemas.ces.run_tools import RunSummary
from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Implicit, Int32, OpenEnum, Repeated, Text
from turnwise.schemas.values import no_items


class CompareAppVersionsRequest(ToolMessage):
    """Compare the results of two versions of an app."""

    REQUIRED = ("parent", "base_version", "candidate_version")
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    base_version: Text = ""
    """Name or id of the app version to compare with."""
    candidate_version: Text = ""
    """Name or id of the app version to judge."""
    evaluation_filter: Text = ""
    """Condition on the evaluations that count, such as tags:slow."""
    page_size: Int32 = 0
    """Most changes of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""
    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but metrics by turn."""


class CompareEvaluationRunsRequest(ToolMessage):
    """Compare two runs of an app."""

    REQUIRED = ("parent", "base_run", "candidate_run")
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    base_run: Text = ""
    """Name or id of the run to compare with."""
    candidate_run: Text = ""
    """Name or id of the run to judge."""
    evaluation_filter: Text = ""
    """Condition on the evaluations that count, such as tags:slow."""
    page_size: Int32 = 0
    """Most changes of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""


class VersionSummary(ToolMessage):
    """The results of a version."""

    RANGES = (
        ("pass_rate", 0, 1),
        ("pass_rate_low", 0, 1),
        ("pass_rate_high", 0, 1),
    )

    app_version_id: Text = ""
    """Id of the version."""
    evaluation_count: Int32 = 0
    """Evaluations that have a result."""
    pass_count: Int32 = 0
    """Results that passed."""
    fail_count: Int32 = 0
    """Results that failed."""
    undecided_count: Int32 = 0
    """Results without a verdict."""
    pass_rate: Double | None = None
    """Share that passed of the results with a verdict."""
    pass_rate_low: Double | None = None
    """Lower bound with 95 % confidence (Wilson)."""
    pass_rate_high: Double | None = None
    """Upper bound."""
    metrics: MetricsByAppVersion | None = None
    """Averages and counts."""


class Change(OpenEnum):
    """Direction in which a case's share of passed results changed."""

    CHANGE_UNSPECIFIED = 0
    REGRESSED = 1
    IMPROVED = 2


class VersionChange(ToolMessage):
    """A case whose share of passed results differs between two versions."""

    PROTO = "EvaluationChange"

    evaluation: Text = ""
    """Name of the evaluation."""
    display_name: Text = ""
    """Its display name."""
    change: Implicit[Change] = Change(0)
    """Direction of the change."""
    base_pass_count: Int32 = 0
    """Results of the base that passed."""
    base_fail_count: Int32 = 0
    """Results of the base that failed."""
    candidate_pass_count: Int32 = 0
    """Results of the candidate that passed."""
    candidate_fail_count: Int32 = 0
    """Results of the candidate that failed."""


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
    """Pass rate or mean of the candidate over the pairs."""
    difference: Double | None = None
    """Value of the candidate minus that of the base."""
    difference_low: Double | None = None
    """Lower bound with 95 % confidence."""
    difference_high: Double | None = None
    """Upper bound."""
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
    """The word if what is undecided failed in the base and passed in the candidate; empty: there is none."""


class CriterionDifference(MeasuredDifference):
    """What may be said of the candidate against the base by one criterion."""

    criterion: Text = ""
    """Name of the criterion."""


class CriterionNotCompared(ToolMessage):
    """A criterion of which nothing may be said."""

    criterion: Text = ""
    """`evaluation_status`: the verdicts."""
    reason: Text = ""
    """Why not."""


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
    changed_cases: Repeated[Text] = Field(default_factory=no_items)
    """The first of them."""
    base_only_case_count: Int32 = 0
    """Cases of the base alone."""
    candidate_only_case_count: Int32 = 0
    """Cases of the candidate alone."""
    base_conversation_count: Int32 = 0
    """Conversations of the base."""
    candidate_conversation_count: Int32 = 0
    """Conversations of the candidate."""
    base_undecided_count: Int32 = 0
    """Conversations of the base without a verdict."""
    candidate_undecided_count: Int32 = 0
    """Conversations of the candidate without a verdict."""
    base_lost_record_count: Int32 = 0
    """Records, conversations and cases that the runs of the base lost, whatever their version."""
    candidate_lost_record_count: Int32 = 0
    """The same of the candidate."""
    base_problems: Repeated[Text] = Field(default_factory=no_items)
    """Runs of the base that have not ended or broke off: what is newest is not compared."""
    candidate_problems: Repeated[Text] = Field(default_factory=no_items)
    """The same of the candidate; conclude nothing good from the figures."""
    criteria: Repeated[CriterionDifference] = Field(default_factory=no_items)
    """By the other criteria that both versions have."""
    not_compared: Repeated[CriterionNotCompared] = Field(default_factory=no_items)
    """Criteria of which nothing may be said."""
    notes: Repeated[Text] = Field(default_factory=no_items)
    """What must be read before believing the figures."""


class CompareAppVersionsResponse(ToolMessage):
    """Summaries of two versions, and the changed cases, regressed ones first."""

    base: VersionSummary | None = None
    """The base version."""
    candidate: VersionSummary | None = None
    """The candidate."""
    verdict: VersionVerdict | None = None
    """What may be said of the candidate against the base."""
    changes: Repeated[VersionChange] = Field(default_factory=no_items)
    """Evaluations whose share of passed results changed, regressed ones first."""
    regressed_count: Int32 = 0
    """Evaluations whose share fell."""
    improved_count: Int32 = 0
    """Evaluations whose share rose."""
    unchanged_count: Int32 = 0
    """Evaluations whose share is the same."""
    only_base_count: Int32 = 0
    """Evaluations with a verdict for the base alone."""
    only_candidate_count: Int32 = 0
    """Evaluations with a verdict for the candidate alone."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""


class CompareEvaluationRunsResponse(ToolMessage):
    """Two runs, the verdict on them, and the changed cases, regressed ones first."""

    base: RunSummary | None = None
    """The base run."""
    candidate: RunSummary | None = None
    """The candidate."""
    verdict: VersionVerdict | None = None
    """What may be said of the candidate against the base."""
    changes: Repeated[VersionChange] = Field(default_factory=no_items)
    """Evaluations whose share of passed results changed, regressed ones first."""
    regressed_count: Int32 = 0
    """Evaluations whose share fell."""
    improved_count: Int32 = 0
    """Evaluations whose share rose."""
    unchanged_count: Int32 = 0
    """Evaluations whose share is the same."""
    only_base_count: Int32 = 0
    """Evaluations with a verdict for the base alone."""
    only_candidate_count: Int32 = 0
    """Evaluations with a verdict for the candidate alone."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""
