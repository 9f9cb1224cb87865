"""Reads the trend of criteria over the runs of an app."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, exists, or_, select

from turnwise.pipeline.service.errors import ServiceError, field_errors
from turnwise.pipeline.service.lists import next_token, read_filter, read_paging
from turnwise.pipeline.service.runs import RUN_COLUMNS, run_summaries
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.trend_points import gap_point, trend_point
from turnwise.pipeline.store.conditions import runs_table_fields
from turnwise.pipeline.store.database import LOCAL_APP, RESULTS, RUNS, Listing, key_text, read_page
from turnwise.pipeline.store.rows import VersionMetric, measured_names, version_id, version_metrics
from turnwise.pipeline.store.runs import RunState, is_empty
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import GetCriterionTrendRequest
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.scoring.evaluate import STATUS

_SHOWN = 20
_UNKNOWN_APP = "; it wrote no row that names an app, and may be of this one"


class _Wanted(NamedTuple):
    """What is read: of an app, one criterion ("": all) of one app version (None: all)."""

    app: str
    criterion: str
    version: str | None


def get_criterion_trend(service: Service, request: GetCriterionTrendRequest) -> JsonObject:
    """Returns runs of an app with what they measured, the newest first.

    Raises:
        ServiceError: The request is invalid, or no run knows the criterion or app version.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    version = key_text(version_id(request.app_version)) if request.app_version else None
    wanted = _Wanted(app, key_text(request.criterion), version)
    paging = read_paging(request.page_size, request.page_token, "trend", *map(repr, wanted), request.filter)
    is_own = or_(RUNS.c.app == app, (RUNS.c.app == LOCAL_APP) & is_empty())
    conditions = [is_own, *read_filter("filter", request.filter, runs_table_fields(app))]
    listing = Listing(RUNS, RUN_COLUMNS, conditions, "create_time")

    def work(connection: Connection) -> JsonObject:
        _check(connection, wanted)
        page = read_page(connection, listing, paging.after, paging.size)
        metrics = version_metrics(connection, [row.name for row in page.rows])
        rows = [row._mapping for row in page.rows]
        told = zip(rows, run_summaries(connection, app, rows), strict=True)
        runs = [_run(row, summary, metrics.get(row["name"], []), wanted) for row, summary in told]
        return ({"runs": runs} if runs else {}) | next_token(paging, page.end)

    return service.store.read(work)


def _check(connection: Connection, wanted: _Wanted) -> None:
    """Raises ServiceError if no run of the app knows the criterion or the app version."""
    if wanted.criterion:
        known = {*measured_names(connection, wanted.app, "criterion"), *_configured(connection, wanted.app)}
        if wanted.criterion not in known:
            raise _unknown("criterion", wanted.criterion, known)
    if wanted.version is not None:
        versions = measured_names(connection, wanted.app, "version_id")
        has_results = exists().where(RESULTS.c.app == wanted.app, RESULTS.c.version_id == wanted.version)
        if wanted.version not in versions and not connection.execute(select(has_results)).scalar():
            raise _unknown("app version", wanted.version, versions)


def _configured(connection: Connection, app: str) -> set[str]:
    """Returns the names of the criteria in the configs of the runs of an app."""
    query = select(RUNS.c.criteria).where(RUNS.c.app == app).distinct()
    return {name for text in connection.execute(query).scalars() for name in json.loads(text or "[]")}


def _unknown(kind: str, name: str, known: set[str] | list[str]) -> ServiceError:
    shown = ", ".join(sorted({*known} - {""})[:_SHOWN]) or "none"
    return ServiceError("NOT_FOUND", f"no run of the app has the {kind} {name!r}; known: {shown}")


def _run(
    row: RowMapping, summary: JsonObject, metrics: Sequence[VersionMetric], wanted: _Wanted
) -> JsonObject:
    """Returns a TrendRun in proto3 JSON."""
    told: JsonObject = {"run": summary}
    state = RunState(*(row[name] for name in RunState._fields))
    unknown = "" if row["app"] == wanted.app else _UNKNOWN_APP
    if not state.is_counted:
        return told | {"gap": f"{state.told()}{unknown}"}
    if not metrics:
        return told | {"gap": f"{_unmeasured(row, summary)}{unknown}"}
    return told | {"points": list(_points(row, metrics, wanted))}


def _unmeasured(row: RowMapping, summary: JsonObject) -> str:
    """Returns why a run that has ended has no metrics in its app."""
    if row["results"]:
        return _elsewhere(row) or "it kept no metrics"
    lost = summary.get("lostRecordCount")
    return "it has no result in this app" + (f": it lost {lost} records or conversations" if lost else "")


def _elsewhere(row: RowMapping) -> str:
    if row["home"] == row["name"]:
        return ""
    return f"metrics of versions that name no app are in {row['home']}"


def _points(row: RowMapping, metrics: Sequence[VersionMetric], wanted: _Wanted) -> Iterator[JsonObject]:
    """Yields the points of a run; a criterion that was not measured gets one that says why."""
    configured = json.loads(row["criteria"] or "[]")
    versions = {*json.loads(row["app_versions"] or "[]"), *(own.version_id for own in metrics)}
    criteria = {STATUS, *configured, *(own.criterion for own in metrics)}
    for criterion in [wanted.criterion] if wanted.criterion else sorted(criteria):
        for version in sorted(versions) if wanted.version is None else [wanted.version]:
            of_version = [own for own in metrics if own.version_id == version]
            found = [own for own in of_version if own.criterion == criterion]
            yield from map(trend_point, found)
            if found:
                continue
            if not of_version:
                why = (
                    _elsewhere(row) if version in versions else "the run has no conversation of this version"
                )
                yield gap_point(criterion, version, why or "the run kept no metrics of this version")
            elif criterion in {STATUS, *configured}:
                yield gap_point(criterion, version, "no score: it applied to nothing in this run")
            else:
                yield gap_point(criterion, version, "it is none of the criteria of this run")
