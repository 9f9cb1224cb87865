"""The methods of results."""

from turnwise.pipeline.service.rest.method import RestMethod, in_app
from turnwise.pipeline.service.results import get_evaluation_result, list_evaluation_results
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.resources import (
    GetEvaluationResultRequest,
    ListEvaluationResultsRequest,
    ListEvaluationResultsResponse,
)
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.jsonio import JsonObject

_ONE, _ALL = in_app("name", "evaluations/*/results/*"), in_app("parent", "evaluations/*") + "/results"


def _get(service: Service, request: GetEvaluationResultRequest) -> JsonObject:
    return get_evaluation_result(service, request.name)


METHODS = (
    RestMethod(
        "list_evaluation_results",
        "GET",
        _ALL,
        ListEvaluationResultsRequest,
        ListEvaluationResultsResponse,
        list_evaluation_results,
    ),
    RestMethod("get_evaluation_result", "GET", _ONE, GetEvaluationResultRequest, EvaluationResult, _get),
)
