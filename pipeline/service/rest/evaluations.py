"""The methods of evaluations."""

from turnwise.pipeline.service.changes import create_evaluation, update_evaluation
from turnwise.pipeline.service.computed_fields import COMPUTED, LAST_TEN
from turnwise.pipeline.service.deletions import delete_evaluation
from turnwise.pipeline.service.evaluations import get_evaluation, list_evaluations
from turnwise.pipeline.service.rest.method import Empty, RestMethod, in_app
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.resources import (
    CreateEvaluationRequest,
    DeleteEvaluationRequest,
    ListEvaluationsRequest,
    ListEvaluationsResponse,
    UpdateEvaluationRequest,
)
from turnwise.schemas.ces.results import Evaluation
from turnwise.schemas.ces.tools import GetEvaluationWithResults
from turnwise.schemas.jsonio import JsonObject

_ONE, _ALL = "evaluations/*", in_app("parent") + "/evaluations"


def _get(service: Service, request: GetEvaluationWithResults) -> JsonObject:
    computed = {*COMPUTED, LAST_TEN} if request.last_ten_results else COMPUTED
    return get_evaluation(service, request.name, computed)


def _update(service: Service, request: UpdateEvaluationRequest) -> JsonObject:
    return update_evaluation(service, request.evaluation, request.update_mask or "")


METHODS = (
    RestMethod(
        "list_evaluations", "GET", _ALL, ListEvaluationsRequest, ListEvaluationsResponse, list_evaluations
    ),
    RestMethod(
        "create_evaluation",
        "POST",
        _ALL,
        CreateEvaluationRequest,
        Evaluation,
        create_evaluation,
        body="evaluation",
    ),
    RestMethod("get_evaluation", "GET", in_app("name", _ONE), GetEvaluationWithResults, Evaluation, _get),
    RestMethod(
        "update_evaluation",
        "PATCH",
        in_app("evaluation.name", _ONE),
        UpdateEvaluationRequest,
        Evaluation,
        _update,
        body="evaluation",
    ),
    RestMethod(
        "delete_evaluation",
        "DELETE",
        in_app("name", _ONE),
        DeleteEvaluationRequest,
        Empty,
        delete_evaluation,
    ),
)
