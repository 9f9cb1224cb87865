"""The pages of the web view, which only read: apps, runs, trends, comparisons and reports."""

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlencode

from msgspec.structs import replace
from sqlalchemy import Connection, func, select
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from turnwise.pipeline.report.html import compare_sides, compare_versions, report_page, service_page
from turnwise.pipeline.runs.store import StoredRuns, read_stored_run, version_key
from turnwise.pipeline.service.http import PAGES, Workers, may_write
from turnwise.pipeline.service.runs import Service, get_criterion_trend, list_evaluation_runs
from turnwise.pipeline.service.serve import HTTP_CODES, ServiceError, checked, field_errors, invalid
from turnwise.pipeline.store.database import CONVERSATIONS, EVALUATIONS, RUNS
from turnwise.pipeline.store.runs import is_counted
from turnwise.pipeline.store.summaries import keep_summaries
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import GetCriterionTrendRequest, ListEvaluationRunsRequest
from turnwise.schemas.comparison import NO_VERSION, Comparison
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.comparison.collect import version_order
from turnwise.transforms.decisions.first_page import NAMED, two_versions
from turnwise.transforms.decisions.report.figures import Compared, VersionKey, run_names, short_names
from turnwise.transforms.decisions.run import Run

# A page states its own policy for scripts and styles; a policy for frames counts in a header only.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def _page(view: str, title: str, code: int = 200, **data: object) -> HTMLResponse:
    """Returns a page; its module `service.js` shows the data of the view."""
    return HTMLResponse(service_page(title, {"view": view, "title": title, **data}), code, HEADERS)


# The addresses, and what answers them.

_Page = Callable[[Service, QueryParams], Response]


def _given(query: QueryParams, *names: str) -> list[str]:
    return [query.get(name, "") for name in names]


_PAGES: dict[str, _Page] = {
    "": lambda service, query: first_page(service),
    "/apps": lambda service, query: _page("apps", "Apps", apps=service.store.read(_apps)),
    "/runs": lambda service, query: runs_page(service, *_given(query, "app", "page_token")),
    "/trend": lambda service, query: trend_page(
        service, *_given(query, "app", "criterion", "app_version", "page_token")
    ),
    "/compare": lambda service, query: compare_page(service, *_given(query, "app", "baseline", "candidate")),
    "/report": lambda service, query: stored_report(service, query.getlist("run")),
}


def web_routes(service: Service, workers: Workers) -> list[Route]:
    """Returns the routes of the view."""
    return [
        Route("/", lambda request: RedirectResponse(PAGES), methods=["GET"]),
        *(
            Route(f"{PAGES}{path}", partial(_answer, service, workers, made), methods=["GET"])
            for path, made in _PAGES.items()
        ),
    ]


async def _answer(service: Service, workers: Workers, made: _Page, request: Request) -> Response:
    work = partial(made, service.of(may_write(request)), request.query_params)
    try:
        return await workers.run(work, changes=False)
    except ServiceError as error:
        return _page("problem", "This page cannot be shown", HTTP_CODES[error.status], message=str(error))


# The pages of the apps of a store, and of the runs of an app.

_LISTED_RUNS = 50
_MOST_RUNS = 5


def first_page(service: Service) -> Response:
    """Returns the runs of the only app, or the page of the apps."""
    apps = service.store.read(_apps)
    if len(apps) == 1:
        return runs_page(service, str(apps[0]["name"]), "")
    return _page("apps", "Apps", apps=apps)


def _apps(connection: Connection) -> list[JsonObject]:
    runs = select(RUNS.c.app, func.count(), func.max(RUNS.c.day)).group_by(RUNS.c.app)
    apps = {app: {"name": app, "runs": 0, "last": None}
            for app in connection.execute(select(EVALUATIONS.c.app).distinct()).scalars()}  # fmt: skip
    apps |= {app: {"name": app, "runs": number, "last": day}
             for app, number, day in connection.execute(runs)}  # fmt: skip
    return [app for _, app in sorted(apps.items())]


def runs_page(service: Service, app: str, page_token: str) -> Response:
    """Returns a page of the runs of an app, the newest first; raises ServiceError."""
    wanted = {"parent": app, "orderBy": "create_time", "pageSize": _LISTED_RUNS, "pageToken": page_token}
    answer = list_evaluation_runs(service, ListEvaluationRunsRequest.from_value(wanted), as_summaries=True)
    return _page(
        "runs",
        f"Runs of {app.rsplit('/', 1)[-1]}",
        app=app,
        runs=answer.get("evaluationRuns", []),
        versions=service.store.read(partial(_versions, app)),
        older=answer.get("nextPageToken", ""),
        most_runs=_MOST_RUNS,
    )


def _versions(app: str, connection: Connection) -> list[str]:
    """Returns the stated app versions, the oldest first; before them `(no version)`, if that is there."""
    version, time = CONVERSATIONS.c.version_id, func.min(CONVERSATIONS.c.event_time)
    query = select(version, time).where(CONVERSATIONS.c.app == app, is_counted(CONVERSATIONS))
    times = {name: first or None for name, first in connection.execute(query.group_by(version))}
    stated = version_order(times).versions
    return [*([NO_VERSION] if stated and "" in times else []), *stated]


# The trends of criteria over the runs of an app.

_TREND_RUNS = 30


def trend_page(
    service: Service, app: str, criterion: str = "", app_version: str = "", page_token: str = ""
) -> Response:
    """Returns the page of one criterion ("": all) and app version ("": all); raises ServiceError."""
    wanted = {"parent": app, "criterion": criterion, "appVersion": app_version}
    paging = {"pageSize": _TREND_RUNS, "pageToken": page_token}
    trend = get_criterion_trend(service, GetCriterionTrendRequest.from_value({**wanted, **paging}))
    runs = list(reversed(trend.get("runs", [])))
    # The order is that of the newest run; what was not measured has no level.
    levels_of: dict[str, set[str]] = {}
    for run in reversed(runs):
        for point in run.get("points", ()):
            levels_of.setdefault(point["criterion"], set()).add(point.get("level", ""))
    return _page(
        "trend",
        f"Trends of {app.rsplit('/', 1)[-1]}",
        app=app,
        criterion=criterion,
        app_version=app_version,
        page_token="",
        sections=[
            _section(runs, name, level)
            for name, levels in levels_of.items()
            for level in sorted(levels - {""} or {""})
        ],
        unread=[f"{run['run']['runId']}: {run['gap']}" for run in runs if run.get("gap")],
        older=trend.get("nextPageToken", ""),
    )


def _section(runs: Sequence[JsonObject], criterion: str, level: str) -> JsonObject:
    """Returns what the runs measured by a criterion, the oldest first, and why there is no figure.

    What measured nothing is one gap.
    """
    steps: list[tuple[JsonObject, JsonObject, str]] = []
    for run in runs:
        points = [point for point in run.get("points", ()) if point["criterion"] == criterion]
        of_level = [point for point in points if point.get("level", "") == level and level]
        steps += [(run["run"], point, point.get("gap", "")) for point in of_level]
        if not of_level:
            reasons = dict.fromkeys(point.get("gap", "") for point in points)
            reason = run.get("gap") or "; ".join(filter(None, reasons)) or f"no score of a {level}"
            steps.append((run["run"], {}, reason))
    is_share = any("passRate" in point for _, point, _ in steps)
    value, bounds = ("passRate", "passRate") if is_share else ("mean", "meanInterval")
    low, high = f"{bounds}Low", f"{bounds}High"
    counts = {"scored": "scoredCount", "no_score": "noScoreCount", "errors": "errorCount"}
    return {
        "criterion": criterion,
        "level": level,
        "is_share": is_share,
        "unit": next((point["unit"] for _, point, _ in steps if point.get("unit")), "score"),
        "steps": [
            {
                "run": run["runId"],
                "run_name": run["name"] if run.get("state") == "COMPLETED" else "",
                "day": run.get("day", ""),
                "time": run.get("createTime", ""),
                "settings": run.get("configDigest"),
                "version": point.get("appVersionId", ""),
                "value": point.get(value),
                **dict.fromkeys(("low", "high")),
                **({"low": point[low], "high": point[high]} if low in point and high in point else {}),
                "gap": gap or "no outcome",
                **{name: point.get(field, 0) if point else None for name, field in counts.items()},
            }
            for run, point, gap in steps
        ],
    }


# Reports, as `turnwise report` writes them: of runs of a store, or of two app versions.

MOST_CONVERSATIONS = 10_000
_LEFT_OUT = (
    "the runs counted more conversations: those of other app versions, that were measured again later, or "
    "that were deleted are left out here"
)


def stored_report(service: Service, names: Sequence[str]) -> Response:
    """Returns the report of some runs; raises ServiceError."""
    if not 1 <= len(set(names)) <= _MOST_RUNS or len(set(names)) < len(names):
        raise invalid("run", f"select 1 to {_MOST_RUNS} runs, each once")
    with field_errors("run"):
        wanted = [checked_name("run", name) for name in names]

    def read(connection: Connection) -> tuple[list[Run], Compared]:
        runs = [read_stored_run(connection, name, MOST_CONVERSATIONS) for name in wanted]
        return runs, compare_versions(runs)

    return _report(service, read, wanted[0].partition("/evaluationRuns/")[0])


def compare_page(service: Service, app: str, baseline: str, candidate: str) -> Response:
    """Returns the report of two app versions, as `turnwise compare --store` compares them."""
    checked("app", app, "app")
    versions = {"baseline": baseline, "candidate": candidate}
    for field, name in versions.items():
        if not name:
            raise invalid(field, "is required: the name or id of an app version")
    ids = [*map(version_key, versions.values())]
    if ids[0] == ids[1]:
        raise invalid("candidate", "is the same as baseline; there is nothing to compare")

    def read(connection: Connection) -> tuple[list[Run], Compared]:
        stored = StoredRuns(connection, app, with_details=True)
        sides = stored.sides([name or NO_VERSION for name in ids], service.store.url, kind="version")
        runs = stored.compared_runs(sides, MOST_CONVERSATIONS)
        versions = [records.versions.used()[0] or "" for records in sides.records]
        keys = [VersionKey(0, versions[0]), VersionKey(len(runs) - 1, versions[1])]
        # The page finds them by the names that the report gives them.
        sides.baseline.name, sides.candidate.name = short_names(keys, run_names(runs))
        comparison = compare_sides(sides.baseline, sides.candidate)
        if not isinstance(comparison, Comparison):
            return runs, Compared([], [comparison])
        compared = sum(int((~records.is_result).sum()) for records in sides.records)
        if sum(run.document.counts.get("results", 0) for run in runs) > compared:
            comparison = replace(comparison, notes=[*comparison.notes, _LEFT_OUT])
        page = two_versions(comparison, sides.primary, sides.to_read, NAMED)
        return runs, Compared([comparison], [], [page])

    keep_summaries(service.store, app)
    return _report(service, read, app)


def _report(service: Service, read: Callable[[Connection], tuple[list[Run], Compared]], app: str) -> Response:
    """Returns a report, whose name leads back to the runs of an app."""
    try:
        runs, compared = service.store.read(read)
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
    gaps = [gap for run in runs for gap in run.gaps]
    shown = replace(compared, refused=[*gaps, *compared.refused])
    home = f"{PAGES}/runs?{urlencode({'app': app})}"
    return HTMLResponse(report_page(runs, shown, home), headers=HEADERS)
