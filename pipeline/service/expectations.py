"""Expectations: statements on whole conversations that evaluations name."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, invalid
from turnwise.pipeline.service.resources import ResourceKind
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import expectation_fields
from turnwise.pipeline.store.expectations import evaluations_that_name
from turnwise.pipeline.store.resources import StoredResource
from turnwise.pipeline.store.tables import EVALUATION_EXPECTATIONS
from turnwise.schemas.ces.expectations import EvaluationExpectation
from turnwise.schemas.values import JsonObject

_MOST_TAGS = 100


def _check(content: JsonObject) -> None:
    if not content.get("llmCriteria", {}).get("prompt", "").strip():
        raise invalid("evaluationExpectation.llmCriteria.prompt", "is required")
    if len(content.get("tags", ())) > _MOST_TAGS:
        raise invalid("evaluationExpectation.tags", f"must have at most {_MOST_TAGS} entries")


def _bind(connection: Connection, content: JsonObject) -> None:
    """Does nothing: evaluations refer to an expectation by its name."""


def _release(connection: Connection, name: str) -> None:
    users = evaluations_that_name(connection, name)
    if users:
        more = f" and {len(users) - 1} more" if len(users) > 1 else ""
        raise ServiceError("FAILED_PRECONDITION", f"{users[0]}{more} names {name}")


def _computed(service: Service, connection: Connection, stored: StoredResource) -> JsonObject:
    return {}


EXPECTATIONS = ResourceKind(
    noun="expectation",
    collection="evaluationExpectations",
    message=EvaluationExpectation,
    table=EVALUATION_EXPECTATIONS,
    fields=expectation_fields,
    check=_check,
    bind=_bind,
    release=_release,
    computed=_computed,
)
