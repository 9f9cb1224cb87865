"""Begins runs that score the recorded conversations of evaluations again."""

from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, not_found
from turnwise.pipeline.service.operations.jobs import Going, Job
from turnwise.pipeline.service.operations.kinds import RUN
from turnwise.pipeline.service.rescoring.plan import EvaluationRecordings, Rescoring
from turnwise.pipeline.service.rescoring.request import check_run
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.cases import stated_case
from turnwise.pipeline.store.evaluations import find_evaluation
from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.recordings import recordings_of
from turnwise.pipeline.store.resources import find_resource
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.tables import EVALUATION_DATASETS
from turnwise.schemas.ces.run_requests import RunEvaluationRequest
from turnwise.schemas.values import JsonObject

MOST_RECORDINGS = 5_000
"""Conversations that are scored again at once."""


def run_evaluation(service: Service, request: RunEvaluationRequest) -> JsonObject:
    """Begins a run that scores the recorded conversations of evaluations again.

    Raises:
        ServiceError: The request is invalid, asks for what recordings cannot answer, there are none, or there
            is a run of that name.
    """
    service.check_writable()
    check_run(request)
    run_id = request.display_name or datetime.now(UTC).strftime("again-%Y%m%dT%H%M%S-%fZ")
    version = version_id(request.app_version) if request.app_version else None
    app, run = request.app, run_key(request.app, run_id)
    rescoring = service.store.read(partial(_found, request=request, run_id=run_id, version=version))

    def work(going: Going) -> JsonObject:
        # Imported late: it takes the criteria and the judges along.
        from turnwise.pipeline.service.rescoring.scoring import score_again

        score_again(going, rescoring, service.scoring)
        return {"evaluationRun": run}

    return service.begin(Job(RUN, app, work, {"evaluations": rescoring.evaluations}, run))


def _found(
    connection: Connection, *, request: RunEvaluationRequest, run_id: str, version: str | None
) -> Rescoring:
    dataset = request.evaluation_dataset
    names = _members(connection, dataset) if dataset else request.evaluations
    parts = [_part(connection, name, version) for name in names]
    count = sum(len(part.recordings) for part in parts)
    if not count:
        of = "" if version is None else f" of the app version {version}"
        raise ServiceError("FAILED_PRECONDITION", f"no run of the store scored these evaluations{of}")
    if count > MOST_RECORDINGS:
        raise ServiceError(
            "INVALID_ARGUMENT", f"{count} recordings are more than {MOST_RECORDINGS}: name fewer evaluations"
        )
    return Rescoring(request.app, run_id, version, parts, dataset)


def _members(connection: Connection, dataset: str) -> list[str]:
    stored = find_resource(connection, EVALUATION_DATASETS, dataset)
    if stored is None:
        raise not_found(dataset)
    names: list[str] = stored.content.get("evaluations", [])
    if not names:
        raise ServiceError("FAILED_PRECONDITION", f"{dataset} holds no evaluations", "evaluationDataset")
    return names


def _part(connection: Connection, name: str, version: str | None) -> EvaluationRecordings:
    evaluation = find_evaluation(connection, name)
    if evaluation is None:
        raise not_found(name)
    case = stated_case(connection, evaluation.content, evaluation.etag)
    return EvaluationRecordings(evaluation, case, list(recordings_of(connection, name, version)))
