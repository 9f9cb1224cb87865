"""The MCP tools for evaluations, their results and their history."""

from turnwise.pipeline.service.changes import create_evaluation, restore_evaluation, update_evaluation
from turnwise.pipeline.service.evaluations import get_evaluation, list_evaluations
from turnwise.pipeline.service.history import list_evaluation_revisions
from turnwise.pipeline.service.mcp.tool import PAGE, Tool, seen
from turnwise.pipeline.service.mcp.views import SUMMARY, read_view, without_details
from turnwise.pipeline.service.results import get_evaluation_result, list_evaluation_results
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.resources import (
    CreateEvaluationRequest,
    GetEvaluationResultRequest,
    ListEvaluationResultsResponse,
    ListEvaluationsResponse,
    UpdateEvaluationRequest,
)
from turnwise.schemas.ces.results import Evaluation, EvaluationResult
from turnwise.schemas.ces.tools import (
    EvaluationRevision,
    GetEvaluationTool,
    ListEvaluationResultsTool,
    ListEvaluationRevisionsRequest,
    ListEvaluationRevisionsResponse,
    ListEvaluationsTool,
    RestoreEvaluationRequest,
    UpdateEvaluationTool,
)
from turnwise.schemas.jsonio import JsonObject


def _update_evaluation(service: Service, request: UpdateEvaluationTool) -> JsonObject:
    """Updates an evaluation, which evaluation.name names.

    Always pass updateMask: comma-separated paths of the fields to change, such as 'displayName,golden.turns'.
    A list is replaced as a whole. A field that the mask names and evaluation leaves out is cleared. Without a
    mask ALL fields are replaced. Pass the etag that you read as evaluation.etag to be refused (ABORTED) if
    someone has changed the evaluation since.
    """
    return update_evaluation(service, request.evaluation, request.update_mask)


def _get_result(service: Service, request: GetEvaluationResultRequest) -> JsonObject:
    """Gets a whole evaluation result: every turn, expectation, score and explanation.

    It can be large: list_evaluation_results gives summaries and, with readMask, parts.
    """
    return get_evaluation_result(service, request.name)


def _get_evaluation(service: Service, request: GetEvaluationTool) -> JsonObject:
    """Gets an evaluation: its golden or scenario, etag, metrics by app version, and its last result in short.

    lastTenResults adds the last ten results in short. readMask names the fields wanted ('*' is everything);
    its paths may lead through lists.
    """
    view = read_view(Evaluation, request.read_mask, without_details(Evaluation))
    return view.select(get_evaluation(service, request.name, view.computed(request.last_ten_results)))


def _list_evaluations(service: Service, request: ListEvaluationsTool) -> JsonObject:
    """Lists the evaluations of an app (parent: projects/P/locations/L/apps/A) in short.

    evaluationFilter: such as 'tags:slow AND display_name:refund'. evaluationRunFilter: such as
    'app_version = v8'. orderBy: name, create_time or update_time. lastTenResults adds the last ten results in
    short. readMask names the fields wanted of each ('*' is everything). nextPageToken, given as pageToken,
    reads on.
    """
    request.page_size = request.page_size or PAGE
    view = read_view(Evaluation, request.read_mask, SUMMARY)
    page = list_evaluations(service, request, view.computed(request.last_ten_results))
    return seen(page, "evaluations", view)


def _list_results(service: Service, request: ListEvaluationResultsTool) -> JsonObject:
    """Lists the results of an evaluation (parent: .../evaluations/E) or an app (.../evaluations/-) in short.

    filter: such as 'evaluation_status = FAIL AND app_version = v8'; also name, evaluation, evaluation_run,
    conversation, create_time, update_time. readMask names the fields wanted of each ('*' is everything); its
    paths may lead through lists, such as 'name,goldenResult.turnReplayResults.expectationOutcome.outcome'.
    nextPageToken, given as pageToken, reads on.
    """
    request.page_size = request.page_size or PAGE
    view = read_view(EvaluationResult, request.read_mask, without_details(EvaluationResult))
    return seen(list_evaluation_results(service, request), "evaluationResults", view)


def _create_evaluation(service: Service, request: CreateEvaluationRequest) -> JsonObject:
    """Creates an evaluation, a golden or a scenario, in an app (parent: projects/P/locations/L/apps/A).

    displayName is unique in the app. evaluationId becomes the last part of the name.
    """
    return create_evaluation(service, request)


def _list_revisions(service: Service, request: ListEvaluationRevisionsRequest) -> JsonObject:
    """Lists the revisions of an evaluation (name: .../evaluations/E), the newest first: who changed it when.

    readMask names the fields wanted of each ('*' is everything): evaluation is the whole content of a
    revision, evaluation.golden.turns a part of it. nextPageToken, given as pageToken, reads on.
    restore_evaluation brings a revision back.
    """
    request.page_size = request.page_size or PAGE
    view = read_view(EvaluationRevision, request.read_mask, without_details(EvaluationRevision))
    return seen(list_evaluation_revisions(service, request), "revisions", view)


def _restore(service: Service, request: RestoreEvaluationRequest) -> JsonObject:
    """Gives an evaluation (name: .../evaluations/E) the content of one of its revisions, as a new revision.

    Nothing is lost: the revisions since then stay in the history. Pass the etag that you read to be refused
    (ABORTED) if someone has changed the evaluation since.
    """
    return restore_evaluation(service, request)


EVALUATION_TOOLS: dict[str, Tool] = {
    "update_evaluation": Tool(
        _update_evaluation,
        UpdateEvaluationTool,
        Evaluation,
        stated=UpdateEvaluationRequest,
        use="update",
        changes=True,
        is_idempotent=False,
    ),
    "get_evaluation_result": Tool(_get_result, GetEvaluationResultRequest, EvaluationResult),
    "get_evaluation": Tool(_get_evaluation, GetEvaluationTool, Evaluation),
    "list_evaluations": Tool(_list_evaluations, ListEvaluationsTool, ListEvaluationsResponse),
    "list_evaluation_results": Tool(_list_results, ListEvaluationResultsTool, ListEvaluationResultsResponse),
    "create_evaluation": Tool(
        _create_evaluation, CreateEvaluationRequest, Evaluation, changes=True, is_idempotent=False
    ),
    "list_evaluation_revisions": Tool(
        _list_revisions, ListEvaluationRevisionsRequest, ListEvaluationRevisionsResponse
    ),
    "restore_evaluation": Tool(
        _restore, RestoreEvaluationRequest, Evaluation, changes=True, is_idempotent=False
    ),
}
"""Tools by name."""
