"""Requests and responses of the methods that the store serves, and of the tools that extend them."""

from turnwise.schemas.ces.result import Evaluation, EvaluationResult, MetricsByAppVersion
from turnwise.schemas.proto import message as proto
from turnwise.schemas.proto.message import Int32, Message, Struct, Text, field

_WANTED = "Comma-separated paths of the wanted fields; *: all; absent: "
_REJECTED = field(
    "Records and conversations that could not be read or scored, and replaced results; get_failures "
    "lists them."
)


class UpdateEvaluationRequest(Message):
    """Change a case."""

    evaluation: Evaluation | None = field("The new values; its name says which one changes.", required=True)
    update_mask: proto.FieldMask | None = field("Comma-separated paths of what is to change; absent: all.")


class CreateEvaluationRequest(Message):
    """Add a case to an app."""

    parent: Text = field("The app: projects/P/locations/L/apps/A.", required=True)
    evaluation_id: Text = field("Last part of the name; absent: generated.")
    evaluation: Evaluation | None = field("The evaluation.", required=True)


class DeleteEvaluationRequest(Message):
    """Delete a case; its history stays."""

    name: Text = field("Name of the evaluation.", required=True)
    force: proto.Bool = field(
        "Whether it is also removed from its datasets; otherwise one that is in a dataset is not deleted."
    )
    etag: Text = field("The etag that it must have; absent: any.")


class PageRequest(Message):
    """Base of requests for a page of what an app has."""

    parent: Text = field("The app: projects/P/locations/L/apps/A.", required=True)
    page_size: Int32 = field("Most entries of a page.", bounds=(0, None))
    page_token: Text = field("nextPageToken of the page before.")


class ListEvaluationsRequest(PageRequest):
    """List the cases of an app."""

    filter: Text = field("Older form of evaluationFilter.", deprecated=True)
    evaluation_filter: Text = field("Condition on evaluations, such as tags:slow AND display_name:refund.")
    evaluation_run_filter: Text = field("Condition on the runs of their results, such as app_version = v8.")
    order_by: Text = field("name (default), create_time or update_time; times from the newest on.")
    last_ten_results: proto.Bool = field("Whether the ten newest results are added.")


class ListEvaluationsResponse(Message):
    """A page of cases."""

    evaluations: list[Evaluation] = field("The evaluations.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class GetEvaluationRequest(Message):
    """Read a case."""

    name: Text = field("Name of the evaluation.", required=True)


class GetEvaluationResultRequest(Message):
    """Read a result."""

    name: Text = field("Its name: projects/P/locations/L/apps/A/evaluations/E/results/R.", required=True)


class ListEvaluationResultsRequest(PageRequest):
    """List the results of a case."""

    parent: Text = field("The evaluation; .../evaluations/- stands for all of the app.", required=True)
    filter: Text = field("Condition, such as evaluation_status = FAIL AND app_version = v8.")
    order_by: Text = field("name (default), create_time or update_time; times from the newest on.")


class ListEvaluationResultsResponse(Message):
    """A page of results."""

    evaluation_results: list[EvaluationResult] = field("The results.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class GetEvaluationRunRequest(Message):
    """Read a run."""

    name: Text = field("Name of the run.", required=True)


# Tools that CES does not have.


class UpdateEvaluationTool(Message):
    """Change a case. The mask may contain either spelling of a name."""

    evaluation: Evaluation | None = field()
    update_mask: Text = field("Comma-separated paths of what is to change, in either spelling; absent: all.")


class GetEvaluationWithResults(GetEvaluationRequest):
    """Read a case, with its results."""

    last_ten_results: proto.Bool = field("Whether the ten newest results are added.")


class GetEvaluationTool(GetEvaluationWithResults):
    """Read a case, or parts of it; results in short."""

    read_mask: Text = field(_WANTED + "all but large ones.")


class ListEvaluationsTool(ListEvaluationsRequest):
    """List the cases of an app, or parts of them."""

    read_mask: Text = field(_WANTED + "a summary.")


class ListEvaluationResultsTool(ListEvaluationResultsRequest):
    """List the results of a case, or parts of them."""

    read_mask: Text = field(_WANTED + "all but large ones.")


class GetFailuresRequest(PageRequest):
    """List the failures of reading, parsing, matching and scoring."""

    filter: Text = field("Condition, such as stage = match AND evaluation_run = nightly.")
    order_by: Text = field("name (default), or update_time from the newest on.")
    read_mask: Text = field(_WANTED + "all but the record.")


class RunFailure(Message):
    """One failure of a run; the run continues."""

    name: Text = field("Name of the failure.")
    evaluation_run: Text = field("Name of the run.")
    update_time: proto.Timestamp | None = field("When it was written.")
    stage: Text = field("`read`, `parse`, `parse_case`, `match` or `score`; `write`: results were replaced.")
    error_type: Text = field("Class of the error.")
    message: Text = field("What is wrong.")
    source: Text = field("File that the record came from.")
    position: Int32 = field("1-based line or index in it.")
    record: Text = field("The record's text, at most 64 KiB of it.")
    conversation_id: Text = field("Id of the conversation, if known.")
    criterion: Text = field("Criterion that failed.")
    app_version: Text = field("App version, if known.")
    turn_index: Int32 | None = field("0-based; absent: the whole conversation.")


class GetFailuresResponse(Message):
    """A page of failures."""

    failures: list[RunFailure] = field("The failures.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class ListEvaluationRunsRequest(PageRequest):
    """List the runs of an app."""

    page_size: Int32 = field("Number of runs, at most 200.", bounds=(0, None))
    filter: Text = field("By name, display_name (the run id), state, create_time and update_time.")
    order_by: Text = field("name (default), create_time or update_time; times from the newest on.")


class RunSummary(Message):
    """A run in one app."""

    name: Text = field("`.../evaluationRuns/{run}`.")
    run_id: Text = field("As `--run_id` had it.")
    state: Text = field(
        "COMPLETED. RUNNING: it has not ended, or was killed: updateTime says when it wrote last. ERROR, "
        "CANCELLED: it broke off."
    )
    error: Text = field("Why it broke off.")
    repeat_state: Text = field(
        "RUNNING, ERROR or CANCELLED: a later execution of the run, which is not read; absent: there is none."
    )
    repeat_time: Text = field("When that wrote last.")
    exit_status: Int32 | None = field("0: it passed its gate; 1: it did not; absent: not known.")
    create_time: Text = field("Start; absent: not known.")
    update_time: Text = field("When it wrote last.")
    end_time: Text = field("End; absent: it has not ended, or it is not known.")
    day: Text = field("Date of the run.")
    app_versions: list[Text] = field("Ids of the app versions with results.")
    criteria: list[Text] = field("Names of the criteria of the config.")
    config_digest: Text = field("The same where what decides the scores is equal.")
    judge: Text = field("Kind of judge; `none`: there was none.")
    judge_model: Text = field("Model of the judge.")
    cost: proto.Double | None = field("Of the judge, for the whole run, at the prices of the config.")
    conversation_count: Int32 = field("Conversations in the app.")
    result_count: Int32 = field("Their results.")
    pass_count: Int32 = field("Results with the verdict PASS.")
    fail_count: Int32 = field("Results with the verdict FAIL.")
    no_verdict_count: Int32 = field("Results without a verdict.")
    rejected_record_count: Int32 = _REJECTED


class ListRunSummariesResponse(Message):
    """A page of runs."""

    evaluation_runs: list[RunSummary] = field("The runs.")
    next_page_token: Text = field("Reads on as pageToken; absent: this is the last page.")


class GetCriterionTrendRequest(PageRequest):
    """Read the figures of a criterion, or of all, run after run."""

    criterion: Text = field("Name of the criterion; verdict: the verdicts; absent: all.")
    app_version: Text = field("Name or id of the only app version wanted; absent: all.")
    filter: Text = field("Of runs: by name, display_name (the run id), state, create_time and update_time.")
    page_size: Int32 = field("Number of runs, at most 200.", bounds=(0, None))


class TrendPoint(Message):
    """The figures of one criterion over one app version in one run."""

    app_version_id: Text = field("Id of the version; absent: the logs do not state it.")
    criterion: Text = field("Name of the criterion.")
    level: Text = field("turn, or conversation: scores of whole conversations; absent: nothing was measured.")
    gap: Text = field("Why there is no value; it is not 0. Absent: there is one.")
    unit: Text = field("score, seconds or count.")
    score_count: Int32 = field("Scores, those without a value included.")
    scored_count: Int32 = field("Scores with a value.")
    no_score_count: Int32 = field("Scores without a value.")
    error_count: Int32 = field("How often the criterion failed with an error.")
    pass_count: Int32 = field("Scores with the outcome PASS.")
    fail_count: Int32 = field("Scores with the outcome FAIL.")
    pass_rate: proto.Double | None = field("Share of PASS in all outcomes; absent: none.", bounds=(0, 1))
    pass_rate_low: proto.Double | None = field(
        "Lower bound with 95 % confidence (Wilson), as of independent scores.", bounds=(0, 1)
    )
    pass_rate_high: proto.Double | None = field("Upper bound.", bounds=(0, 1))
    mean: proto.Double | None = field("Mean of the values.")
    mean_interval_low: proto.Double | None = field(
        "Lower bound with 95 % confidence (Student), as of independent values; absent: no spread was seen."
    )
    mean_interval_high: proto.Double | None = field("Upper bound.")
    mean_low: proto.Double | None = field(
        "Mean if everything without a score had the lowest value of the scale; absent: it has none."
    )
    mean_high: proto.Double | None = field(
        "Mean if everything without a score had the highest value of the scale; absent: it has none."
    )
    stddev: proto.Double | None = field("Standard deviation of the values; absent: fewer than two.")
    p50: proto.Double | None = field("Median, of latencies only.")
    p90: proto.Double | None = field("90th percentile, of latencies only.")
    p99: proto.Double | None = field("99th percentile, of latencies only.")
    conversation_count: Int32 = field("Conversations of the version in the run.")
    turn_count: Int32 = field("Their turns.")


class TrendRun(Message):
    """A run, and what it measured."""

    run: RunSummary | None = field("With another configDigest or judgeModel, it measured in another way.")
    gap: Text = field("Why the run has no points: it has not ended, broke off, or kept no metrics; not 0.")
    points: list[TrendPoint] = field("By criterion, app version and level.")


class GetCriterionTrendResponse(Message):
    """A page of runs, the newest first."""

    runs: list[TrendRun] = field("The runs.")
    next_page_token: Text = field("Reads older runs as pageToken; absent: this is the last page.")


class CompareAppVersionsRequest(PageRequest):
    """Compare the results of two versions of an app."""

    baseline_version: Text = field("App version to compare with: name, id or (no version).", required=True)
    candidate_version: Text = field("App version to judge: name, id or (no version).", required=True)
    evaluation_filter: Text = field("Condition on the evaluations that count, such as tags:slow.")
    read_mask: Text = field(_WANTED + "all but metrics by turn.")


class CompareEvaluationRunsRequest(PageRequest):
    """Compare two runs of an app."""

    baseline_run: Text = field("Name or id of the run to compare with.", required=True)
    candidate_run: Text = field("Name or id of the run to judge.", required=True)
    evaluation_filter: Text = field("Condition on the evaluations that count, such as tags:slow.")
    read_mask: Text = field(_WANTED + "all.")


class VersionSummary(Message):
    """The results of a version."""

    app_version_id: Text = field("Id of the version.")
    evaluation_count: Int32 = field("Evaluations that have a result.")
    pass_count: Int32 = field("Results that passed.")
    fail_count: Int32 = field("Results that failed.")
    no_verdict_count: Int32 = field("Results without a verdict.")
    pass_rate: proto.Double | None = field("Share that passed of the results with a verdict.", bounds=(0, 1))
    pass_rate_low: proto.Double | None = field("Lower bound with 95 % confidence (Wilson).", bounds=(0, 1))
    pass_rate_high: proto.Double | None = field("Upper bound.", bounds=(0, 1))
    metrics: MetricsByAppVersion | None = field("Averages and counts.")


class VersionChange(Message, proto="EvaluationChange"):
    """A case whose share of passed results differs by half or more between two versions."""

    evaluation: Text = field("Name of the evaluation.")
    display_name: Text = field("Its display name.")
    change: Text = field("`regressed`: the share fell by half or more; `fixed`: it rose so.")
    baseline_pass_count: Int32 = field("Results of the baseline that passed.")
    baseline_fail_count: Int32 = field("Results of the baseline that failed.")
    candidate_pass_count: Int32 = field("Results of the candidate that passed.")
    candidate_fail_count: Int32 = field("Results of the candidate that failed.")


class MeasuredDifference(Message):
    """The candidate less the baseline, by one measure, and what may be said of it."""

    word: Text = field("`better`, `worse`, `not worse`, `same`, `inconclusive` or `differs`; absent: none.")
    sentence: Text = field("The same as one sentence, with what would have been seen.")
    measure: Text = field("`pass_rate` or `mean`.")
    unit: Text = field("`score`, `seconds` or `count`.")
    pair_count: Int32 = field("Cases with a value on both sides.")
    baseline_value: proto.Double | None = field("Pass rate or mean of the baseline over the pairs.")
    candidate_value: proto.Double | None = field("Pass rate or mean of the candidate over the pairs.")
    difference: proto.Double | None = field("Value of the candidate minus that of the baseline.")
    difference_low: proto.Double | None = field("Lower bound with 95 % confidence.")
    difference_high: proto.Double | None = field("Upper bound.")
    p_value: proto.Double | None = field("Adjusted (Holm) over the criteria that decide.")
    fixed_count: Int32 = field("Pairs that fail in the baseline and pass in the candidate.")
    regressed_count: Int32 = field("Pairs that pass in the baseline and fail in the candidate.")
    detectable_difference: proto.Double | None = field(
        "Smallest difference that would have been seen with a power of 80 %."
    )
    needed_pair_count: Int32 = field("Pairs by which it is seen with a power of 80 %; 0: there is none.")
    word_if_missing_fail: Text = field(
        "The word if what has no score passed in the baseline and failed in the candidate; empty: none."
    )
    word_if_missing_pass: Text = field(
        "The word if what has no score failed in the baseline and passed in the candidate; empty: none."
    )


class CriterionDifference(MeasuredDifference):
    """What may be said of the candidate against the baseline by one criterion."""

    criterion: Text = field("Name of the criterion.")


class CriterionNotCompared(Message):
    """A criterion of which nothing may be said."""

    criterion: Text = field("`verdict`: the verdicts.")
    reason: Text = field("Why not.")


class ReasonCount(Message):
    """Why conversations have no verdict, in words that they share."""

    conversation_count: Int32 = field("Number of them.")
    reason: Text = field("Why, with the next step.")


class VersionVerdict(MeasuredDifference):
    """What `turnwise compare --store` says of the candidate against the baseline, by the verdicts."""

    refusal: Text = field("Why they are not compared, such as another judge; other fields are absent then.")
    headline: Text = field("What it means for the decision, in one sentence, by the leading criterion.")
    detail: Text = field("What is left out or missing, as far as it could change the answer.")
    open_reasons: list[ReasonCount] = field("Why conversations of the candidate most often have no verdict.")
    paired_by: Text = field("`eval_id`, `conversation_id`, `task` or `nothing` (two groups).")
    changed_case_count: Int32 = field("Cases left out, as the versions were held against other expectations.")
    changed_cases: list[Text] = field("The first of them.")
    baseline_only_case_count: Int32 = field("Cases of the baseline alone.")
    candidate_only_case_count: Int32 = field("Cases of the candidate alone.")
    baseline_conversation_count: Int32 = field("Conversations of the baseline.")
    candidate_conversation_count: Int32 = field("Conversations of the candidate.")
    baseline_no_verdict_count: Int32 = field("Conversations of the baseline without a verdict.")
    candidate_no_verdict_count: Int32 = field("Conversations of the candidate without a verdict.")
    baseline_rejected_record_count: Int32 = field(
        "Records, conversations and cases that the runs of the baseline rejected, whatever their version."
    )
    candidate_rejected_record_count: Int32 = field("The same of the candidate.")
    baseline_problems: list[Text] = field(
        "Runs of the baseline that have not ended or broke off: what is newest is not compared."
    )
    candidate_problems: list[Text] = field("Those of the candidate; conclude nothing good from the figures.")
    criteria: list[CriterionDifference] = field("By the other criteria that both versions have.")
    not_compared: list[CriterionNotCompared] = field("Criteria of which nothing may be said.")
    notes: list[Text] = field("What must be read before believing the figures.")


class CasesChanged(Message):
    """What comparisons share: what they say, and the changed cases."""

    verdict: VersionVerdict | None = field("What may be said of the candidate against the baseline.")
    changes: list[VersionChange] = field(
        "Evaluations whose share of passed results changed by half or more, regressed ones first."
    )
    regressed_count: Int32 = field("Evaluations whose share fell by half or more.")
    fixed_count: Int32 = field("Evaluations whose share rose by half or more.")
    unchanged_count: Int32 = field("Evaluations whose share changed by less.")
    only_baseline_count: Int32 = field("Evaluations with a verdict for the baseline alone.")
    only_candidate_count: Int32 = field("Evaluations with a verdict for the candidate alone.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class CompareAppVersionsResponse(CasesChanged):
    """Summaries of two versions, and the changed cases, regressed ones first."""

    baseline: VersionSummary | None = field("The baseline.")
    candidate: VersionSummary | None = field("The candidate.")


class CompareEvaluationRunsResponse(CasesChanged):
    """Two runs, the verdict on them, and the changed cases, regressed ones first."""

    baseline: RunSummary | None = field("The baseline.")
    candidate: RunSummary | None = field("The candidate.")


class ListEvaluationRevisionsRequest(Message):
    """List the revisions of an evaluation."""

    name: Text = field("Name of the evaluation.", required=True)
    page_size: Int32 = field("Most entries of a page.", bounds=(0, None))
    page_token: Text = field("nextPageToken of the page before.")
    read_mask: Text = field(_WANTED + "all but the content.")


class EvaluationRevision(Message):
    """One revision of an evaluation."""

    revision: Int32 = field("Number of the revision, from 1.")
    etag: Text = field("Its etag.")
    change_time: proto.Timestamp | None = field("When it was made.")
    changed_by: Text = field("Who made it.")
    update_mask: Text = field("Mask of the update that made it; absent: all fields were written.")
    deleted: proto.Bool = field("Whether the evaluation was deleted here; `evaluation` is what it held.")
    evaluation: Evaluation | None = field("Its content, without what is computed.")


class ListEvaluationRevisionsResponse(Message):
    """A page of revisions, the newest first."""

    revisions: list[EvaluationRevision] = field("The revisions.")
    next_page_token: Text = field("pageToken of the next page; absent: this is the last.")


class RestoreEvaluationRequest(Message):
    """Give an evaluation the content of one of its revisions."""

    name: Text = field("Name of the evaluation.", required=True)
    revision: Int32 = field("Number of the revision.", required=True, bounds=(1, None))
    etag: Text = field("The etag that the evaluation must have; absent: any.")


class ListConversationsToReadRequest(Message):
    """List the conversations of a run that should be read first."""

    parent: Text = field("The app: projects/P/locations/L/apps/A.", required=True)
    evaluation_run: Text = field("Name or id of the run; absent: the run that was written last.")
    app_version: Text = field("Name or id of an app version; absent: all versions.")
    page_size: Int32 = field("Number of conversations, at most 50; absent: 10.", bounds=(0, None))


class ConversationFields(Message):
    """Base of what is told of a conversation of a run."""

    name: Text = field("Name of the conversation in the store.")
    conversation_id: Text = field("Its id in the log.")
    app_version: Text = field("App version.")
    language: Text = field("Language.")
    tags: list[Text] = field("Tags.")
    verdict: Text = field("PASS or FAIL; absent: no verdict.")
    why: Text = field("Why it should be read, in one line; turns are counted from 1.")
    severity: Text = field("How bad what went wrong is: critical, high, medium or low; absent: nothing.")
    severity_score: proto.Double = field("Order of reading, first of what failed: the greater, the earlier.")
    severity_reason: Text = field("What most of the severity comes from; absent: nothing failed.")
    worst_criterion: Text = field("Criterion of the worst score.")
    worst_turn: Int32 | None = field("Turn of the worst score, from 0.")
    problem_type: Text = field("Kind of problem: criterion, label and tool.")
    event_time: Text = field("When it took place.")


class ConversationBrief(ConversationFields):
    """A conversation of a run, in short."""

    problem_type_size: Int32 = field("Conversations of the run and version of the same problem type.")


class ListConversationsToReadResponse(Message):
    """The conversations to read first, at most three of a problem type."""

    evaluation_run: Text = field("Name of the run.")
    run_state: Text = field(
        "COMPLETED. RUNNING: it has not ended, or was killed; more may come. ERROR, CANCELLED: it broke off."
    )
    unread_runs: list[Text] = field(
        "Where no run was named: runs that wrote later, and have not ended or broke off, one line each."
    )
    conversations: list[ConversationBrief] = field("The conversations, the worst first.")
    conversation_count: Int32 = field("All conversations of the run and version.")
    fail_count: Int32 = field("Of them, those that failed.")
    no_verdict_count: Int32 = field("Of them, those without a verdict.")
    rejected_record_count: Int32 = _REJECTED


class GetConversationRequest(Message):
    """Read a conversation of a run: by its name, or by app, id and run."""

    name: Text = field("Name of the conversation in the store.")
    parent: Text = field("The app, if no name is given: projects/P/locations/L/apps/A.")
    conversation_id: Text = field("Id of the conversation in the log, if no name is given.")
    evaluation_run: Text = field("Name or id of the run; absent: the run that was written last.")


class ConversationScore(Message):
    """A score of a conversation or of one of its turns."""

    score_id: Text = field("Id of the score.")
    turn_index: Int32 | None = field("0-based; absent: the whole conversation.")
    criterion: Text = field("Name of the criterion.")
    value: proto.Double | None = field("Absent: no score.")
    outcome: Text = field("PASS, FAIL or SKIPPED; absent: no outcome.")
    threshold: proto.Double | None = field("Threshold of the criterion.")
    label: Text = field("Label of the score.")
    reason: Text = field("Why there is no value or no outcome.")
    explanation: Text = field("Why it fails.")


class RecordedConversation(ConversationFields):
    """A conversation of a run: words, calls, what was expected, and scores with their reasons."""

    evaluation_run: Text = field("Name of the run.")
    eval_id: Text = field("Id of the eval case; absent: none.")
    reason: Text = field("Why there is no verdict, or why it fails whatever its scores.")
    ended: Text = field("How it ended, such as normally or agent_error; absent: the log does not say.")
    turns: Int32 = field("Number of turns.")
    tool_calls: Int32 = field("Number of calls.")
    tool_errors: Int32 = field("Number of those that failed.")
    destructive_calls: Int32 = field("Number of successful calls that cannot be undone.")
    latency_seconds: proto.Double | None = field("Sum over the turns; absent: not logged of every turn.")
    tokens_in: proto.Int64 | None = field("Tokens read by its models; absent: not logged of every turn.")
    tokens_out: proto.Int64 | None = field("Tokens written by them; absent: not logged of every turn.")
    source: Text = field("File that it came from.")
    position: proto.Int64 | None = field("Its line or index in the file, from 1.")
    transcript: Struct | None = field("What was said and called, at most 64 KiB; absent: the run kept none.")
    scores: list[ConversationScore] = field("Failed ones first, then those without a score; at most 200.")
    omitted_score_count: Int32 = field("Scores that are left out here.")
    other_names: list[Text] = field(
        "Names of the same conversation in the run, with another case or app version; at most 20."
    )
