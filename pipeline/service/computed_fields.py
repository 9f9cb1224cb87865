"""Adds computed fields to stored evaluations: times, metrics and results."""

from collections.abc import Collection, Iterable
from threading import Lock

from sqlalchemy import Connection

from turnwise.pipeline.store.evaluations import StoredEvaluation
from turnwise.pipeline.store.rows import (
    EvaluationFigures,
    evaluations_with_results,
    figures_of,
    last_completed,
    newest_results,
    read_figures,
)
from turnwise.pipeline.store.summaries import RunKey, Summaries, UnsummarisedError, counted_runs
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.transforms.ces.judgements import aggregated_metrics

LAST_COMPLETED = "lastCompletedResult"
COMPUTED = frozenset({"aggregatedMetrics", "evaluationRuns", LAST_COMPLETED})
"""Fields that are computed from results and returned by default."""

LAST_TEN = "lastTenResults"
_MOST_KEPT = 20_000
_MOST_APPS = 20
_Stamp = tuple[RunKey, ...]


class FiguresCache:
    """Caches the figures of evaluations until a run ends, or one that has ended changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[_Stamp, EvaluationFigures]] = {}
        self._apps: dict[str, tuple[_Stamp, dict[str, EvaluationFigures]]] = {}
        self._lock = Lock()

    def read(
        self, connection: Connection, app: str, evaluations: Iterable[str]
    ) -> dict[str, EvaluationFigures]:
        """Returns the figures of those evaluations that have results."""
        now = tuple(counted_runs(connection, app))
        found = {name: self._figures(connection, name, now) for name in evaluations}
        return {name: figures for name, figures in found.items() if figures.versions or figures.runs}

    def read_all(
        self, connection: Connection, app: str, summaries: Summaries
    ) -> dict[str, EvaluationFigures]:
        """Returns the figures of all evaluations of an app that have results."""
        now = tuple(counted_runs(connection, app))
        stamp, found = self._apps.get(app, (None, {}))
        if stamp != now:
            found = self._all(connection, app, summaries, now)
            with self._lock:
                self._apps.pop(app, None)
                self._apps[app] = now, found
                if len(self._apps) > _MOST_APPS:
                    del self._apps[next(iter(self._apps))]
        return found

    def _all(
        self, connection: Connection, app: str, summaries: Summaries, now: _Stamp
    ) -> dict[str, EvaluationFigures]:
        try:
            summed = figures_of(summaries.figures())
        except UnsummarisedError:
            summed = dict.fromkeys(evaluations_with_results(connection, app))
        found = {name: own or self._figures(connection, name, now) for name, own in sorted(summed.items())}
        return {name: figures for name, figures in found.items() if figures.versions or figures.runs}

    def _figures(self, connection: Connection, evaluation: str, now: _Stamp) -> EvaluationFigures:
        stamp, figures = self._kept.get(evaluation, (None, None))
        if figures is None or stamp != now:
            figures = read_figures(connection, evaluation)
            with self._lock:
                self._kept.pop(evaluation, None)
                self._kept[evaluation] = (now, figures)
                if len(self._kept) > _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
        return figures


def with_computed_fields(
    connection: Connection, found: Collection[StoredEvaluation], cache: FiguresCache, wanted: Collection[str]
) -> list[JsonObject]:
    """Returns evaluations of one app with computed fields, in canonical proto3 JSON.

    Args:
        connection: Connection to the store.
        found: The evaluations.
        cache: Cached figures.
        wanted: JSON names of the computed fields to include.
    """
    figures: dict[str, EvaluationFigures] = {}
    if found and {"aggregatedMetrics", "evaluationRuns"} & set(wanted):
        figures = cache.read(connection, app_of(next(iter(found)).name), [one.name for one in found])
    names = [one.name for one in found]
    last = last_completed(connection, names) if LAST_COMPLETED in wanted else {}
    return [
        _written(one) | _computed(connection, one, figures.get(one.name), last.get(one.name), wanted)
        for one in found
    ]


def _written(evaluation: StoredEvaluation) -> JsonObject:
    """Returns an evaluation with its times and authors, without what is computed from results."""
    return {
        **evaluation.content,
        "createTime": nanos_timestamp(evaluation.create_nanos),
        "createdBy": evaluation.created_by,
        "updateTime": nanos_timestamp(evaluation.update_nanos),
        "lastUpdatedBy": evaluation.last_updated_by,
        "etag": evaluation.etag,
    }


def _computed(
    connection: Connection,
    evaluation: StoredEvaluation,
    figures: EvaluationFigures | None,
    last: JsonObject | None,
    wanted: Collection[str],
) -> JsonObject:
    value: JsonObject = {LAST_COMPLETED: last}
    if figures is not None:
        value["evaluationRuns"] = figures.runs
        value["aggregatedMetrics"] = aggregated_metrics(figures.versions)
    if LAST_TEN in wanted:
        value[LAST_TEN] = newest_results(connection, evaluation.name, 10)
    return {name: item for name, item in value.items() if item and name in wanted}
