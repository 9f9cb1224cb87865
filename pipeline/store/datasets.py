"""Reads and writes which evaluations are in which datasets."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, insert, select

from turnwise.pipeline.store.evaluations import EvaluationChange
from turnwise.pipeline.store.resources import StoredResource, find_resource, replace_resource
from turnwise.pipeline.store.tables import DATASET_MEMBERS, EVALUATION_DATASETS, EVALUATIONS

_AT_ONCE = 500


def missing_evaluations(connection: Connection, names: Sequence[str]) -> list[str]:
    """Returns those of the names that no evaluation has."""
    found: set[str] = set()
    for start in range(0, len(names), _AT_ONCE):
        part = names[start : start + _AT_ONCE]
        found.update(
            connection.execute(select(EVALUATIONS.c.name).where(EVALUATIONS.c.name.in_(part))).scalars()
        )
    return [name for name in names if name not in found]


def set_members(connection: Connection, dataset: str, evaluations: Collection[str]) -> None:
    """Replaces the evaluations of a dataset."""
    connection.execute(delete(DATASET_MEMBERS).where(DATASET_MEMBERS.c.dataset == dataset))
    if evaluations:
        rows = [{"dataset": dataset, "evaluation": name} for name in sorted(evaluations)]
        connection.execute(insert(DATASET_MEMBERS), rows)


def datasets_of(connection: Connection, evaluations: Collection[str]) -> dict[str, list[str]]:
    """Returns evaluation -> names of its datasets, of those that are in any."""
    columns = DATASET_MEMBERS.c.evaluation, DATASET_MEMBERS.c.dataset
    query = select(*columns).where(columns[0].in_(list(evaluations))).order_by(*columns)
    found: dict[str, list[str]] = {}
    for evaluation, dataset in connection.execute(query):
        found.setdefault(evaluation, []).append(dataset)
    return found


def remove_from_datasets(connection: Connection, evaluation: str, change: EvaluationChange) -> bool:
    """Removes an evaluation from its datasets; returns False if another writer changes one of them."""
    names = datasets_of(connection, [evaluation]).get(evaluation, [])
    found = [find_resource(connection, EVALUATION_DATASETS, name) for name in names]
    return all([old is not None and _take_out(connection, old, evaluation, change) for old in found])


def _take_out(connection: Connection, old: StoredResource, evaluation: str, change: EvaluationChange) -> bool:
    kept = [name for name in old.content["evaluations"] if name != evaluation]
    others = {key: item for key, item in old.content.items() if key != "evaluations"}
    content = {**others, "evaluations": kept} if kept else others
    set_members(connection, old.name, kept)
    return replace_resource(connection, EVALUATION_DATASETS, old, content, change) is not None
