"""The methods of runs."""

from turnwise.pipeline.service.rest.method import RestMethod, in_app
from turnwise.pipeline.service.runs import get_evaluation_run, list_evaluation_runs
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.run import EvaluationRun, GetEvaluationRunRequest, ListEvaluationRunsResponse
from turnwise.schemas.ces.tools import ListEvaluationRunsRequest
from turnwise.schemas.jsonio import JsonObject

_ONE, _ALL = in_app("name", "evaluationRuns/*"), in_app("parent") + "/evaluationRuns"


def _get(service: Service, request: GetEvaluationRunRequest) -> JsonObject:
    return get_evaluation_run(service, request.name)


METHODS = (
    RestMethod(
        "list_evaluation_runs",
        "GET",
        _ALL,
        ListEvaluationRunsRequest,
        ListEvaluationRunsResponse,
        list_evaluation_runs,
    ),
    RestMethod("get_evaluation_run", "GET", _ONE, GetEvaluationRunRequest, EvaluationRun, _get),
)
