"""Erases evaluations with their history, expectations and datasets."""

from collections import Counter
from collections.abc import Collection, Sequence
from time import time_ns

from sqlalchemy import Connection, delete, func, select, text

from turnwise.pipeline.store.datasets import remove_from_datasets
from turnwise.pipeline.store.evaluations import EvaluationChange
from turnwise.pipeline.store.expectations import evaluations_that_name
from turnwise.pipeline.store.maintenance.digests import DATASET, EVALUATION, EXPECTATION, ErasedKey
from turnwise.pipeline.store.tables import (
    DATASET_MEMBERS,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    HISTORY,
    RESULT_ROWS,
    TAGS,
)
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.names import is_name
from turnwise.schemas.config import ConfigError

_ACTOR = "turnwise store"
_TRIGGERS = text(
    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'evaluation_history'"
)
_OWN = {
    DATASET: (
        (DATASET_MEMBERS, DATASET_MEMBERS.c.dataset),
        (EVALUATION_DATASETS, EVALUATION_DATASETS.c.name),
    ),
    EXPECTATION: ((EVALUATION_EXPECTATIONS, EVALUATION_EXPECTATIONS.c.name),),
    EVALUATION: ((TAGS, TAGS.c.evaluation), (EVALUATIONS, EVALUATIONS.c.name)),
}
"""Kind -> the tables of its rows, with the columns that name it; beside them, evaluations have a history."""

NAMED = (
    (EVALUATIONS, EVALUATIONS.c.name),
    (HISTORY, HISTORY.c.evaluation),
    (EVALUATION_DATASETS, EVALUATION_DATASETS.c.name),
    (EVALUATION_EXPECTATIONS, EVALUATION_EXPECTATIONS.c.name),
)
"""Tables of resources, with the column that names one."""


def resource_key(name: str) -> ErasedKey:
    """Returns the key of an evaluation, expectation or dataset."""
    kind = next((each for each in (DATASET, EXPECTATION) if is_name(each, name)), EVALUATION)
    return ErasedKey(kind, (name,))


def erase_resources(connection: Connection, names: Sequence[str]) -> Counter[str]:
    """Deletes resources, evaluations with all of their revisions; returns table -> number of deleted rows.

    Raises:
        StoreError: Another writer changes a dataset of one of them.
    """
    change = EvaluationChange(_ACTOR, time_ns())
    done: Counter[str] = Counter()
    for kind, tables in _OWN.items():
        own = [name for name in names if resource_key(name).kind == kind]
        if kind == EVALUATION and not all([remove_from_datasets(connection, name, change) for name in own]):
            raise StoreError("a dataset is changed by another writer; try again")
        for table, column in tables:
            done[table.name] += connection.execute(delete(table).where(column.in_(own))).rowcount
        if own and kind == EVALUATION:
            done[HISTORY.name] += _delete_history(connection, own)
    return done


def _delete_history(connection: Connection, names: Sequence[str]) -> int:
    """Deletes revisions; nobody else can while the triggers are away, because the table is locked."""
    erased = delete(HISTORY).where(HISTORY.c.evaluation.in_(names))
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE evaluation_history DISABLE TRIGGER evaluation_history_refuse")
        count = connection.execute(erased).rowcount
        connection.exec_driver_sql("ALTER TABLE evaluation_history ENABLE TRIGGER evaluation_history_refuse")
        return count
    triggers = connection.execute(_TRIGGERS).all()
    for name, _ in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    count = connection.execute(erased).rowcount
    for _, statement in triggers:
        connection.exec_driver_sql(statement)
    return count


def known_resources(connection: Connection, names: Collection[str]) -> set[str]:
    """Returns those of some names that are resources, or were evaluations."""
    queries = (select(column).where(column.in_(names)).distinct() for _, column in NAMED)
    return {name for query in queries for name in connection.execute(query).scalars()}


def check_free(connection: Connection, names: Collection[str]) -> None:
    """Raises ConfigError if an evaluation that stays names one of the expectations."""
    for name in names:
        if resource_key(name).kind == EXPECTATION:
            staying = [each for each in evaluations_that_name(connection, name) if each not in names]
            if staying:
                raise ConfigError(f"{name}: {staying[0]} names it: erase that too, or change it first")


def results_of(connection: Connection, names: Sequence[str]) -> int:
    """Returns the number of results that were scored against evaluations."""
    query = select(func.count()).select_from(RESULT_ROWS).where(RESULT_ROWS.c.evaluation.in_(names))
    return int(connection.execute(query).scalar_one())
