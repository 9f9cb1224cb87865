"""Datasets: named groups of evaluations."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.resources import ResourceKind
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import dataset_fields
from turnwise.pipeline.store.datasets import missing_evaluations, set_members
from turnwise.pipeline.store.resources import StoredResource
from turnwise.pipeline.store.results import summed_figures
from turnwise.pipeline.store.tables import EVALUATION_DATASETS
from turnwise.schemas.ces.datasets import EvaluationDataset
from turnwise.schemas.ces.names import app_of, checked_name
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces.aggregates import aggregated_metrics

_FIELD = "evaluationDataset.evaluations"


def _check(content: JsonObject) -> None:
    names = content.get("evaluations", [])
    if len(set(names)) < len(names):
        raise invalid(_FIELD, "holds a name twice")
    for name in names:
        with field_errors(_FIELD):
            checked_name("evaluation", name)
        if app_of(name) != app_of(content["name"]):
            raise invalid(_FIELD, f"{name} is of another app")


def _bind(connection: Connection, content: JsonObject) -> None:
    names = content.get("evaluations", [])
    missing = missing_evaluations(connection, names)
    if missing:
        raise ServiceError("NOT_FOUND", f"{missing[0]} was not found", _FIELD)
    set_members(connection, content["name"], names)


def _release(connection: Connection, name: str) -> None:
    set_members(connection, name, ())


def _computed(service: Service, connection: Connection, stored: StoredResource) -> JsonObject:
    names = stored.content.get("evaluations", [])
    figures = service.cache.read(connection, app_of(stored.name), names)
    metrics = aggregated_metrics(summed_figures(figures.values()))
    return {"aggregatedMetrics": metrics} if metrics else {}


DATASETS = ResourceKind(
    noun="dataset",
    collection="evaluationDatasets",
    message=EvaluationDataset,
    table=EVALUATION_DATASETS,
    fields=dataset_fields,
    check=_check,
    bind=_bind,
    release=_release,
    computed=_computed,
)
