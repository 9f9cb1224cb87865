"""The pages of the web view, which only read: apps, runs, trends, comparisons and reports."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, select, union
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from turnwise.pipeline.report.html import compare_versions, report_page, run_rows
from turnwise.pipeline.runs.store import StoredRun, read_stored_run
from turnwise.pipeline.service.chart import (
    HEADERS,
    UNKNOWN_FIGURE,
    Dot,
    Html,
    address,
    between,
    chart,
    el,
    joined,
    link,
    navigation,
    number,
    older,
    page,
    percent,
    table,
)
from turnwise.pipeline.service.comparison import compare_app_versions
from turnwise.pipeline.service.http import PAGES, Workers, may_write
from turnwise.pipeline.service.runs import Service, get_criterion_trend, list_run_summaries
from turnwise.pipeline.service.serve import HTTP_CODES, ServiceError, field_errors, invalid
from turnwise.pipeline.store.database import EVALUATIONS, RUNS
from turnwise.pipeline.store.urls import COMPLETED
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import (
    CompareAppVersionsRequest,
    GetCriterionTrendRequest,
    ListEvaluationRunsRequest,
)
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.report.figures import Compared

_Page = Callable[[Service, Request], Response]


def _given(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


_PAGES: dict[str, _Page] = {
    "": lambda service, request: apps_page(service),
    "/runs": lambda service, request: runs_page(
        service, _given(request, "app"), _given(request, "page_token")
    ),
    "/trend": lambda service, request: trend_page(
        service, TrendQuery(*(_given(request, name) for name in TrendQuery._fields))
    ),
    "/compare": lambda service, request: compare_page(
        service, *(_given(request, name) for name in ("app", "base", "candidate"))
    ),
    "/report": lambda service, request: stored_report(service, request.query_params.getlist("run")),
}


def web_routes(service: Service, workers: Workers) -> list[Route]:
    """Returns the routes of the view."""
    return [
        Route(f"{PAGES}{path}", partial(_answer, service, workers, made), methods=["GET"])
        for path, made in _PAGES.items()
    ]


async def _answer(service: Service, workers: Workers, made: _Page, request: Request) -> Response:
    work = partial(made, service.of(may_write(request)), request)
    try:
        return await workers.run(work, changes=False)
    except ServiceError as error:
        return page(
            "No page", navigation(""), el("p", str(error), class_="bad"), code=HTTP_CODES[error.status]
        )


# The trends of criteria over the runs of an app.

_TREND_RUNS = 30
_TREND_HEADS = ("Run", "Day", "App version", "Pass rate", "Mean", "Scored", "Unscored", "Errors")


class _MeasuredStep(NamedTuple):
    """A run, and one of its points (None: the run has none)."""

    run: JsonObject
    point: JsonObject | None
    gap: str


class TrendQuery(NamedTuple):
    """What is shown: of an app, one criterion ("": all) of one app version ("": all), from a page on."""

    app: str
    criterion: str
    app_version: str
    page_token: str


def trend_page(service: Service, query: TrendQuery) -> Response:
    """Returns the page; raises ServiceError."""
    wanted = {"parent": query.app, "criterion": query.criterion, "appVersion": query.app_version}
    paging = {"pageSize": _TREND_RUNS, "pageToken": query.page_token}
    found = get_criterion_trend(service, GetCriterionTrendRequest.from_value({**wanted, **paging}))
    runs = list(reversed(found.get("runs", [])))
    sections = [_section(name, list(_steps(runs, *name)), query.app) for name in _measured(runs)]
    told = [el("li", f"{run['run']['runId']}: {run['gap']}") for run in runs if run.get("gap")]
    unread = [el("h2", "Runs without figures"), el("ul", *told)] if told else []
    content = sections or [el("p", "No run of the app measured anything.")]
    more = older("/trend", found, app=query.app, criterion=query.criterion, app_version=query.app_version)
    return page(f"Trends of {query.app}", navigation(query.app), *content, *unread, more)


def _measured(runs: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """Returns the criteria with their levels; of what was measured nowhere, without a level."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for point in run.get("points", ()):
            found.setdefault(point["criterion"], set()).add(point.get("level", ""))
    return [
        (name, level) for name, levels in sorted(found.items()) for level in sorted(levels - {""} or {""})
    ]


def _steps(runs: Sequence[JsonObject], criterion: str, level: str) -> Iterator[_MeasuredStep]:
    """Yields what each run measured; a run that measured nothing is one gap."""
    for run in runs:
        points = [one for one in run.get("points", ()) if one["criterion"] == criterion]
        own = [one for one in points if one.get("level", "") == level and level]
        for point in own:
            yield _MeasuredStep(run["run"], point, point.get("gap", ""))
        if not own:
            reasons = dict.fromkeys(one.get("gap", "") for one in points)
            why = run.get("gap") or "; ".join(filter(None, reasons)) or f"no score of a {level}"
            yield _MeasuredStep(run["run"], None, why)


def _section(name: tuple[str, str], steps: Sequence[_MeasuredStep], app: str) -> Html:
    criterion, level = name
    is_share = any(step.point is not None and "passRate" in step.point for step in steps)
    title = f"{criterion}{f', by {level}' if level else ''}: {'pass rate' if is_share else 'mean'}"
    heading = el("h2", link(title, "/trend", app=app, criterion=criterion))
    dots = [_dot(step, is_share) for step in steps]
    rows = table(_TREND_HEADS, (list(_step_cells(step)) for step in reversed(steps)))
    details = el("details", el("summary", "Figures"), rows)
    return el("section", heading, chart(title, dots, is_share=is_share), details)


def _dot(step: _MeasuredStep, is_share: bool) -> Dot:
    label = f"{step.run['runId']} {_version(step.point)}".strip()
    names = (
        ("passRate", "passRateLow", "passRateHigh")
        if is_share
        else ("mean", "meanIntervalLow", "meanIntervalHigh")
    )
    value, low, high = ((step.point or {}).get(name) for name in names)
    if value is None:
        return Dot(f"{label}: {step.gap or 'no outcome'}", None)
    return Dot(f"{label}: {percent(value) if is_share else number(value)}", value, low, high)


def _version(point: JsonObject | None) -> str:
    return "" if point is None else point.get("appVersionId", "")


def _step_cells(step: _MeasuredStep) -> Iterator[str]:
    yield step.run["runId"]
    yield step.run.get("day", "")
    yield _version(step.point)
    point = step.point or {}
    rate, mean = percent(point.get("passRate")), number(point.get("mean"))
    yield between(point, "passRateLow", "passRateHigh", rate)
    yield between(point, "meanIntervalLow", "meanIntervalHigh", mean)
    if step.point is None:
        yield el("span", step.gap, class_="open")
        return
    yield str(point.get("scoredCount", 0))
    yield str(point.get("unscoredCount", 0))
    yield str(point.get("errorCount", 0))


# The report of runs of a store: the page of `turnwise report`.

MOST_CONVERSATIONS = 10_000
_MOST_RUNS = 5


def stored_report(service: Service, names: Sequence[str]) -> Response:
    """Returns the report of some runs; raises ServiceError."""
    if not 1 <= len(set(names)) <= _MOST_RUNS or len(set(names)) < len(names):
        raise invalid("run", f"select 1 to {_MOST_RUNS} runs, each once")
    with field_errors("run"):
        wanted = [checked_name("run", name) for name in names]
    runs = service.store.read(lambda connection: _runs(connection, wanted))
    try:
        compared = compare_versions(runs)
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
    gaps = [gap for run in runs for gap in run.gaps]
    told = Compared(compared.comparisons, [*gaps, *compared.refused])
    # The page states its own policy for scripts and styles; a policy for frames counts in a header only.
    headers = {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
    return HTMLResponse(report_page([run_rows(run) for run in runs], told), headers=headers)


def _runs(connection: Connection, names: Sequence[str]) -> list[StoredRun]:
    try:
        return [read_stored_run(connection, name, MOST_CONVERSATIONS) for name in names]
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None


# The pages of the apps of a store, and of the runs of an app.

_LISTED_RUNS = 50
_RUN_HEADS = (
    *("Compare", "Run", "State", "Begun", "App versions", "Conversations"),
    *("Passed", "Failed", "Undecided", "Lost", "Cost", "Exit status"),
)


def apps_page(service: Service) -> Response:
    """Returns the page of the apps."""

    def work(connection: Connection) -> list[str]:
        return sorted(connection.execute(union(select(RUNS.c.app), select(EVALUATIONS.c.app))).scalars())

    apps = service.store.read(work)
    items = [el("li", link(app, "/runs", app=app)) for app in apps]
    return page("Apps", navigation(""), el("ul", *items) if apps else el("p", "The store holds no run."))


def runs_page(service: Service, app: str, page_token: str) -> Response:
    """Returns a page of the runs of an app, the newest first; raises ServiceError."""
    wanted = {"parent": app, "orderBy": "create_time", "pageSize": _LISTED_RUNS, "pageToken": page_token}
    found = list_run_summaries(service, ListEvaluationRunsRequest.from_value(wanted))
    runs = found.get("evaluationRuns", [])
    rows = table(_RUN_HEADS, (list(_run_cells(run)) for run in runs))
    two = el("p", el("button", "Report of the selected runs"), " (the first is compared with the others)")
    form = el("form", rows, two, method="get", action=address("/report"))
    content = form if runs else el("p", "The app has no run.")
    last = older("/runs", found, app=app)
    return page(f"Runs of {app}", navigation(app), content, last, _compare_form(app))


def _compare_form(app: str) -> Html:
    fields = [
        el("label", f"{text} ", el("input", type="text", name=name, required=""))
        for name, text in (("base", "Base"), ("candidate", " Candidate"))
    ]
    hidden = el("input", type="hidden", name="app", value=app)
    form = el("form", hidden, *fields, " ", el("button", "Compare"), method="get", action=address("/compare"))
    return el("section", el("h2", "Compare two app versions"), form)


def _run_cells(run: JsonObject) -> Iterator[str]:
    is_complete = run["state"] == COMPLETED
    named = run["runId"]
    choice = el("input", type="checkbox", name="run", value=run["name"], aria_label=f"Select {named}")
    yield choice if is_complete else ""
    yield link(named, "/report", run=run["name"]) if is_complete else named
    yield _state(run)
    yield run.get("createTime", UNKNOWN_FIGURE)
    yield ", ".join(run.get("appVersions", ())) or UNKNOWN_FIGURE
    for name in ("conversationCount", "passCount", "failCount", "undecidedCount", "lostRecordCount"):
        yield str(run.get(name, 0 if is_complete else UNKNOWN_FIGURE))
    cost = run.get("cost")
    yield UNKNOWN_FIGURE if cost is None else f"{cost:.2f}"
    yield str(run.get("exitStatus", UNKNOWN_FIGURE))


def _state(run: JsonObject) -> Html:
    error = f": {run['error']}" if run.get("error") else ""
    kind = "" if run["state"] == COMPLETED else "bad" if error else "open"
    return el("span", f"{run['state']}{error}", class_=kind)


# The page of the comparison of two app versions.

_MOST_CHANGES = 100
_SIDES = ("base", "candidate")
_COUNTS = (
    ("Conversations compared", "ConversationCount"),
    ("Without a verdict", "UndecidedCount"),
    ("Records lost", "LostRecordCount"),
    ("Cases of this version alone", "OnlyCaseCount"),
)


def compare_page(service: Service, app: str, base: str, candidate: str) -> Response:
    """Returns the page; raises ServiceError."""
    wanted = {
        "parent": app,
        "baseVersion": base,
        "candidateVersion": candidate,
        "pageSize": _MOST_CHANGES,
    }
    found = compare_app_versions(service, CompareAppVersionsRequest.from_value(wanted))
    verdict = found.get("verdict", {})
    parts = [_verdict(verdict), _sides(found), _criteria(verdict), _changes(found)]
    return page(f"{candidate} against {base}", navigation(app), *parts)


def _verdict(verdict: JsonObject) -> Html:
    if verdict.get("refusal"):
        return el("p", f"Not compared: {verdict['refusal']}", class_="bad")
    notes = [el("li", note) for note in verdict.get("notes", ())]
    sentence = el("p", el("strong", verdict.get("sentence", "Nothing is known of the verdicts.")))
    return joined(sentence, el("ul", *notes) if notes else "")


def _sides(found: JsonObject) -> Html:
    verdict = found.get("verdict", {})
    sides = [found.get(side, {}) for side in _SIDES]
    rate = [between(one, "passRateLow", "passRateHigh", percent(one.get("passRate"))) for one in sides]
    rows = [["Pass rate of the results", *rate]]
    unstated = 0 if "sentence" in verdict else UNKNOWN_FIGURE
    rows += [
        [text, *(str(verdict.get(f"{side}{name}", unstated)) for side in _SIDES)] for text, name in _COUNTS
    ]
    names = [one.get("appVersionId", UNKNOWN_FIGURE) for one in sides]
    return joined(el("h2", "Versions"), table(("", *names), rows))


def _criteria(verdict: JsonObject) -> Html:
    rows = list(_criterion_rows(verdict))
    if not rows:
        return Html("")
    heads = ("Criterion", "Verdict", "Base", "Candidate", "Difference", "Pairs")
    return joined(el("h2", "Criteria"), table(heads, rows))


def _criterion_rows(verdict: JsonObject) -> Iterator[list[str]]:
    for one in verdict.get("criteria", ()):
        difference = number(one.get("difference"))
        figures = [number(one.get("baseValue")), number(one.get("candidateValue"))]
        told = [one["criterion"], one.get("sentence", ""), *figures]
        interval = between(one, "differenceLow", "differenceHigh", difference)
        yield [*told, interval, str(one.get("pairCount", 0))]
    for one in verdict.get("notCompared", ()):
        yield [one["criterion"], f"not compared: {one.get('reason', '')}", *[UNKNOWN_FIGURE] * 4]


def _changes(found: JsonObject) -> Html:
    rows = [
        [
            one.get("displayName") or one["evaluation"],
            one.get("change", UNKNOWN_FIGURE),
            *(f"{one.get(f'{side}PassCount', 0)} of {_decided(one, side)}" for side in _SIDES),
        ]
        for one in found.get("changes", ())
    ]
    if not rows:
        return Html("")
    more = (
        el("p", f"The first {_MOST_CHANGES} are shown.", class_="note") if found.get("nextPageToken") else ""
    )
    heads = ("Evaluation", "Change", "Passed (base)", "Passed (candidate)")
    return joined(el("h2", "Evaluations that changed"), table(heads, rows), more)


def _decided(one: JsonObject, side: str) -> int:
    return int(one.get(f"{side}PassCount", 0) + one.get(f"{side}FailCount", 0))
