"""Finds which expectations evaluations name."""

import json
from collections.abc import Iterable

from sqlalchemy import Connection, select

from turnwise.pipeline.store.tables import EVALUATION_EXPECTATIONS, EVALUATIONS
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.values import JsonObject


def named_expectations(content: JsonObject) -> list[str]:
    """Returns the statements of an evaluation on whole conversations, or their names."""
    part = content.get("golden") or content.get("scenario") or {}
    names: list[str] = part.get("evaluationExpectations", [])
    return names


def evaluations_that_name(connection: Connection, expectation: str) -> list[str]:
    """Returns the names of the evaluations that name an expectation."""
    own = EVALUATIONS.c.content.contains(expectation, autoescape=True)
    query = select(EVALUATIONS.c.name, EVALUATIONS.c.content).where(own).order_by(EVALUATIONS.c.name)
    rows = connection.execute(query).all()
    return [row.name for row in rows if expectation in named_expectations(json.loads(row.content))]


def expectation_texts(connection: Connection, apps: Iterable[str]) -> dict[str, str]:
    """Returns name -> text of the expectations of apps."""
    table = EVALUATION_EXPECTATIONS
    query = select(table.c.name, table.c.content).where(table.c.app.in_(list(apps)))
    rows = connection.execute(query).all()
    return {row.name: json.loads(row.content)["llmCriteria"]["prompt"] for row in rows}


def stated_texts(content: JsonObject, texts: dict[str, str]) -> dict[str, str]:
    """Returns name -> text of those expectations of an evaluation that have a text."""
    return {name: texts[name] for name in named_expectations(content) if name in texts}


def apps_of_expectations(contents: Iterable[JsonObject]) -> set[str]:
    """Returns the apps whose expectations evaluations name."""
    names = (name for content in contents for name in named_expectations(content))
    return {app_of(name) for name in names if "/evaluationExpectations/" in name}
