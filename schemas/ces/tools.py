"""Requests and responses of tools that extend the CES evaluation service."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.resources import (
    GetEvaluationRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
)
from turnwise.schemas.ces.result import Evaluation, MetricsByAppVersion
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    Bool,
    Double,
    Implicit,
    Int32,
    Int64,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)


class ToolMessage(Message):
    """Base of turnwise's own messages."""

    PACKAGE = "turnwise"


class PageRequest(ToolMessage):
    """Base of requests for a page of what an app has."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    page_size: Int32 = 0
    """Most entries of a page."""
    page_token: Text = ""
    """nextPageToken of the page before."""


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


class GetFailuresRequest(PageRequest):
    """List the failures of reading, parsing, matching and scoring."""

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


class ListEvaluationRunsRequest(PageRequest):
    """List the runs of an app."""

    page_size: Int32 = 0
    """Number of runs, at most 200."""
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


class GetCriterionTrendRequest(PageRequest):
    """Read the figures of a criterion, or of all, run after run."""

    criterion: Text = ""
    """Name of the criterion; evaluation_status: the verdicts; absent: all."""
    app_version: Text = ""
    """Name or id of the only app version wanted; absent: all."""
    filter: Text = ""
    """Of the runs: by name, display_name (the run id), state, create_time and update_time."""
    page_size: Int32 = 0
    """Number of runs, at most 200."""


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


class CompareAppVersionsRequest(PageRequest):
    """Compare the results of two versions of an app."""

    REQUIRED = ("parent", "base_version", "candidate_version")

    base_version: Text = ""
    """Name or id of the app version to compare with."""
    candidate_version: Text = ""
    """Name or id of the app version to judge."""
    evaluation_filter: Text = ""
    """Condition on the evaluations that count, such as tags:slow."""
    read_mask: Text = ""
    """Comma-separated paths of the wanted fields; *: all; absent: all but metrics by turn."""


class CompareEvaluationRunsRequest(PageRequest):
    """Compare two runs of an app."""

    REQUIRED = ("parent", "base_run", "candidate_run")

    base_run: Text = ""
    """Name or id of the run to compare with."""
    candidate_run: Text = ""
    """Name or id of the run to judge."""
    evaluation_filter: Text = ""
    """Condition on the evaluations that count, such as tags:slow."""


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


class CasesChanged(ToolMessage):
    """Base of comparisons: what they say, and the changed cases."""

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


class CompareAppVersionsResponse(CasesChanged):
    """Summaries of two versions, and the changed cases, regressed ones first."""

    base: VersionSummary | None = None
    """The base version."""
    candidate: VersionSummary | None = None
    """The candidate."""


class CompareEvaluationRunsResponse(CasesChanged):
    """Two runs, the verdict on them, and the changed cases, regressed ones first."""

    base: RunSummary | None = None
    """The base run."""
    candidate: RunSummary | None = None
    """The candidate."""


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


class ListConversationsToReadRequest(ToolMessage):
    """List the conversations of a run that should be read first."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""
    app_version: Text = ""
    """Name or id of an app version; absent: all versions."""
    page_size: Int32 = 0
    """Number of conversations, at most 50; absent: 10."""


class ConversationFields(ToolMessage):
    """Base of what is told of a conversation of a run."""

    name: Text = ""
    """Name of the conversation in the store."""
    conversation_id: Text = ""
    """Its id in the log."""
    app_version: Text = ""
    """App version."""
    language: Text = ""
    """Language."""
    tags: Repeated[Text] = Field(default_factory=no_items)
    """Tags."""
    verdict: Text = ""
    """PASS or FAIL; absent: not decided."""
    why: Text = ""
    """Why it should be read, in one line; turns are counted from 0."""
    harm: Double = 0.0
    """Order of reading: the greater, the earlier."""
    harm_term: Text = ""
    """What most of the harm comes from; absent: the harm is 0."""
    worst_criterion: Text = ""
    """Criterion of the worst score."""
    worst_turn: Int32 | None = None
    """Turn of the worst score, from 0."""
    cluster: Text = ""
    """Kind of problem: criterion, label and tool."""
    event_time: Text = ""
    """When it took place."""


class ConversationBrief(ConversationFields):
    """A conversation of a run, in short."""

    cluster_size: Int32 = 0
    """Conversations of the run and version with the same kind of problem."""


class ListConversationsToReadResponse(ToolMessage):
    """The conversations to read first, at most three of one kind of problem."""

    evaluation_run: Text = ""
    """Name of the run."""
    run_state: Text = ""
    """COMPLETED. RUNNING: it has not ended, or was killed; more may come. ERROR, CANCELLED: it broke off."""
    unread_runs: Repeated[Text] = Field(default_factory=no_items)
    """Where no run was named: runs that wrote later, and have not ended or broke off, one line each."""
    conversations: Repeated[ConversationBrief] = Field(default_factory=no_items)
    """The conversations, the worst first."""
    conversation_count: Int32 = 0
    """All conversations of the run and version."""
    fail_count: Int32 = 0
    """Of them, those that failed."""
    undecided_count: Int32 = 0
    """Of them, those without a verdict."""
    lost_record_count: Int32 = 0
    """Records and conversations that could not be read or scored, and replaced results; get_failures lists
    them."""


class GetConversationRequest(ToolMessage):
    """Read a conversation of a run: by its name, or by app, id and run."""

    name: Text = ""
    """Name of the conversation in the store."""
    parent: Text = ""
    """The app, if no name is given: projects/P/locations/L/apps/A."""
    conversation_id: Text = ""
    """Id of the conversation in the log, if no name is given."""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""


class ConversationScore(ToolMessage):
    """A score of a conversation or of one of its turns."""

    score_id: Text = ""
    """Id of the score."""
    turn_index: Int32 | None = None
    """0-based; absent: the whole conversation."""
    criterion: Text = ""
    """Name of the criterion."""
    value: Double | None = None
    """Absent: unscored."""
    outcome: Text = ""
    """PASS, FAIL or SKIPPED; absent: not decided."""
    threshold: Double | None = None
    """Threshold of the criterion."""
    label: Text = ""
    """Label of the score."""
    reason: Text = ""
    """Why there is no value or no outcome."""
    explanation: Text = ""
    """Why it fails."""


class RecordedConversation(ConversationFields):
    """A conversation of a run: words, calls, what was expected, and scores with their reasons."""

    evaluation_run: Text = ""
    """Name of the run."""
    eval_id: Text = ""
    """Id of the eval case; absent: none."""
    reason: Text = ""
    """Why it is not decided, or why it fails whatever its scores."""
    ended: Text = ""
    """How it ended, such as normally or agent_error; absent: the log does not say."""
    turns: Int32 = 0
    """Number of turns."""
    tool_calls: Int32 = 0
    """Number of calls."""
    tool_errors: Int32 = 0
    """Number of those that failed."""
    destructive_calls: Int32 = 0
    """Number of successful calls that cannot be undone."""
    latency_seconds: Double | None = None
    """Sum over the turns; absent: not logged of every turn."""
    tokens_in: Int64 | None = None
    """Tokens read by the agent's models; absent: not logged of every turn."""
    tokens_out: Int64 | None = None
    """Tokens written by them; absent: not logged of every turn."""
    source: Text = ""
    """File that it came from."""
    position: Int64 | None = None
    """Its line or index in the file, from 1."""
    transcript: Struct | None = None
    """What was said and called, at most 64 KiB; absent: the run kept none."""
    scores: Repeated[ConversationScore] = Field(default_factory=no_items)
    """Failed ones first, then unscored ones; at most 200."""
    omitted_score_count: Int32 = 0
    """Scores that are left out here."""
    other_names: Repeated[Text] = Field(default_factory=no_items)
    """Names of the same conversation in the run, with another case or app version; at most 20."""
