"""Erases evaluations with their history."""

from collections import Counter
from collections.abc import Sequence
from time import time_ns

from sqlalchemy import Connection, delete, func, select, text

from turnwise.pipeline.store.datasets import remove_from_datasets
from turnwise.pipeline.store.evaluations import EvaluationChange
from turnwise.pipeline.store.tables import EVALUATIONS, HISTORY, RESULT_ROWS, TAGS
from turnwise.pipeline.store.urls import StoreError

_ACTOR = "turnwise store"
_TRIGGERS = text(
    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'evaluation_history'"
)


def erase_evaluations(connection: Connection, names: Sequence[str]) -> Counter[str]:
    """Deletes evaluations with all of their revisions; returns table -> number of deleted rows.

    Raises:
        StoreError: Another writer changes a dataset of one of them.
    """
    change = EvaluationChange(_ACTOR, time_ns())
    if not all([remove_from_datasets(connection, name, change) for name in names]):
        raise StoreError("a dataset is changed by another writer; try again")
    own = {TAGS: TAGS.c.evaluation, EVALUATIONS: EVALUATIONS.c.name}
    done = Counter(
        {
            table.name: connection.execute(delete(table).where(column.in_(names))).rowcount
            for table, column in own.items()
        }
    )
    done[HISTORY.name] = _delete_history(connection, names)
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


def known_evaluations(connection: Connection, names: Sequence[str]) -> set[str]:
    """Returns those of some names that are evaluations, or were."""
    query = select(HISTORY.c.evaluation).where(HISTORY.c.evaluation.in_(names)).distinct()
    return set(connection.execute(query).scalars())


def results_of(connection: Connection, names: Sequence[str]) -> int:
    """Returns the number of results that were scored against evaluations."""
    query = select(func.count()).select_from(RESULT_ROWS).where(RESULT_ROWS.c.evaluation.in_(names))
    return int(connection.execute(query).scalar_one())
