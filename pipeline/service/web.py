"""The pages of the web view, which only read: apps, runs, trends, comparisons and reports."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection, select, union
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from turnwise.pipeline.report.html import compare_versions, report_page
from turnwise.pipeline.runs.store import read_stored_run
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
from turnwise.transforms.decisions.run import Run

# Makes HTML in which every text is escaped, and pages under a content-security policy without scripts.

_STYLE = (files("turnwise.pipeline.service") / "style.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_VOID = ("meta",)
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"}


class Html(str):
    """Markup; other texts are escaped where they meet it."""

    __slots__ = ()


def el(tag: str, *children: str, **attributes: str) -> Html:
    """Returns an element; of names of attributes, a last underscore is dropped, others become hyphens."""
    named = (f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"' for name, value in attributes.items())
    start = f"<{tag}{''.join(named)}>"
    return Html(start if tag in _VOID else f"{start}{joined(*children)}</{tag}>")


def joined(*parts: str) -> Html:
    """Returns markup and escaped texts one after the other."""
    return Html("".join(part if isinstance(part, Html) else _text(part) for part in parts))


def page(title: str, *content: str, code: int = 200) -> HTMLResponse:
    """Returns a page as an answer."""
    head = joined(
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} - turnwise"),
        Html(f"<style>{_STYLE}</style>"),
    )
    body = el("body", el("main", el("h1", title), *content))
    document = f"<!doctype html>\n{el('html', el('head', head), body, lang='en')}\n"
    return HTMLResponse(document, code, {**HEADERS, "Content-Security-Policy": _POLICY})


def _text(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode())


_WIDTH, _HEIGHT = 640.0, 120.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 8.0, 8.0


class Dot(NamedTuple):
    """What a run measured (None: a gap), its interval if known, and both in words, shown at the pointer."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def chart(title: str, dots: Sequence[Dot], *, is_share: bool) -> Html:
    """Returns the chart of runs, the oldest first; "" if no run has a value.

    The title is for people who do not see it; the scale is 0 to 1, or begins at 0 or the lowest value.
    """
    known = [value for dot in dots for value in (dot.value, dot.low, dot.high) if value is not None]
    if not known:
        return Html("")
    low, high = (0.0, 1.0) if is_share else (min(0.0, *known), max(known))
    high = high if high > low else low + 1.0

    def x(place: int) -> str:
        return f"{_LEFT + (_WIDTH - _LEFT - _RIGHT) * (place + 0.5) / len(dots):.1f}"

    def y(value: float) -> str:
        return f"{_HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM):.1f}"

    def line(kind: str, x1: str, x2: str, y1: str, y2: str) -> Html:
        return el("line", class_=kind, x1=x1, x2=x2, y1=y1, y2=y2)

    parts = [el("title", title)]
    for value in (low, high):
        text = f"{value:.0%}" if is_share else f"{value:.3g}"
        parts.append(line("axis", f"{_LEFT:g}", f"{_WIDTH - _RIGHT:g}", y(value), y(value)))
        at = {"x": f"{_LEFT - 6:g}", "y": y(value)}
        parts.append(el("text", text, **at, text_anchor="end", dominant_baseline="middle"))
    for place, (dot, following) in enumerate(pairwise(dots)):
        if dot.value is not None and following.value is not None:
            parts.append(line("line", x(place), x(place + 1), y(dot.value), y(following.value)))
    for place, dot in enumerate(dots):
        marks, at_x = [el("title", dot.label)], x(place)
        if dot.value is None:
            marks.append(line("gap", at_x, at_x, f"{_TOP:g}", f"{_HEIGHT - _BOTTOM:g}"))
        else:
            if dot.low is not None and dot.high is not None:
                marks.append(line("bar", at_x, at_x, y(dot.low), y(dot.high)))
            marks.append(el("circle", class_="dot", cx=at_x, cy=y(dot.value), r="3"))
        parts.append(el("g", *marks))
    size = {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "width": f"{_WIDTH:g}", "height": f"{_HEIGHT:g}"}
    return el("svg", *parts, role="img", **size)


# Parts that several pages of the web view have.

UNKNOWN_FIGURE = "-"
"""Stands where a figure is not known; it is not 0."""


def link(text: str, place: str, **query: str) -> Html:
    """Returns a link to another page of the view."""
    return el("a", text, href=address(place, **query))


def address(place: str, **query: str) -> str:
    """Returns the address of a page; parameters without a value are left out."""
    given = {name: value for name, value in query.items() if value}
    return f"{PAGES}{place}{f'?{urlencode(given)}' if given else ''}"


def navigation(app: str) -> Html:
    """Returns the links between the pages of an app."""
    of_app = (link("Runs", "/runs", app=app), link("Trends", "/trend", app=app)) if app else ()
    return el("nav", link("Apps", ""), *of_app, aria_label="Pages")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Returns a table; cells that are markup stay markup."""
    head = el("tr", *(el("th", name, scope="col") for name in heads))
    body = joined(*(el("tr", *(el("td", cell) for cell in row)) for row in rows))
    return el("div", el("table", el("thead", head), el("tbody", body)), class_="wide", tabindex="0")


def percent(value: float | None) -> str:
    """Returns a share as text."""
    return UNKNOWN_FIGURE if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """Returns a figure as text."""
    return UNKNOWN_FIGURE if value is None else f"{value:.4g}"


def between(figures: JsonObject, low: str, high: str, text: str) -> str:
    """Returns a figure with its interval, if that is known."""
    if figures.get(low) is None or figures.get(high) is None:
        return text
    shown = percent if text.endswith("%") else number
    return f"{text} ({shown(figures[low])} to {shown(figures[high])})"


def older(place: str, page: JsonObject, **query: str) -> Html:
    """Returns the link to the next page; "": this is the last one."""
    token = page.get("nextPageToken", "")
    return el("p", link("Older", place, page_token=token, **query)) if token else Html("")


# The addresses, and what answers them.

_Page = Callable[[Service, QueryParams], Response]


def _given(query: QueryParams, *names: str) -> list[str]:
    return [query.get(name, "") for name in names]


_PAGES: dict[str, _Page] = {
    "": lambda service, query: apps_page(service),
    "/runs": lambda service, query: runs_page(service, *_given(query, "app", "page_token")),
    "/trend": lambda service, query: trend_page(service, TrendQuery(*_given(query, *TrendQuery._fields))),
    "/compare": lambda service, query: compare_page(service, *_given(query, "app", "base", "candidate")),
    "/report": lambda service, query: stored_report(service, query.getlist("run")),
}


def web_routes(service: Service, workers: Workers) -> list[Route]:
    """Returns the routes of the view."""
    return [
        Route(f"{PAGES}{path}", partial(_answer, service, workers, made), methods=["GET"])
        for path, made in _PAGES.items()
    ]


async def _answer(service: Service, workers: Workers, made: _Page, request: Request) -> Response:
    work = partial(made, service.of(may_write(request)), request.query_params)
    try:
        return await workers.run(work, changes=False)
    except ServiceError as error:
        return page(
            "No page", navigation(""), el("p", str(error), class_="bad"), code=HTTP_CODES[error.status]
        )


# The trends of criteria over the runs of an app.

_TREND_RUNS = 30
_TREND_HEADS = ("Run", "Day", "App version", "Pass rate", "Mean", "Scored", "No score", "Errors")


class _MeasuredStep(NamedTuple):
    """A run, and one of its points (empty: the run has none)."""

    run: JsonObject
    point: JsonObject
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
    trend = get_criterion_trend(service, GetCriterionTrendRequest.from_value({**wanted, **paging}))
    runs = list(reversed(trend.get("runs", [])))
    sections = [_section(name, list(_steps(runs, *name)), query.app) for name in _measured(runs)]
    told = [el("li", f"{run['run']['runId']}: {run['gap']}") for run in runs if run.get("gap")]
    unread = [el("h2", "Runs without figures"), el("ul", *told)] if told else []
    content = sections or [el("p", "No run of the app measured anything.")]
    more = older("/trend", trend, app=query.app, criterion=query.criterion, app_version=query.app_version)
    return page(f"Trends of {query.app}", navigation(query.app), *content, *unread, more)


def _measured(runs: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """Returns the criteria with their levels; of what was measured nowhere, without a level."""
    criteria: dict[str, set[str]] = {}
    for run in runs:
        for point in run.get("points", ()):
            criteria.setdefault(point["criterion"], set()).add(point.get("level", ""))
    return [
        (name, level) for name, levels in sorted(criteria.items()) for level in sorted(levels - {""} or {""})
    ]


def _steps(runs: Sequence[JsonObject], criterion: str, level: str) -> Iterator[_MeasuredStep]:
    """Yields what each run measured; a run that measured nothing is one gap."""
    for run in runs:
        points = [point for point in run.get("points", ()) if point["criterion"] == criterion]
        of_level = [point for point in points if point.get("level", "") == level and level]
        for point in of_level:
            yield _MeasuredStep(run["run"], point, point.get("gap", ""))
        if not of_level:
            reasons = dict.fromkeys(point.get("gap", "") for point in points)
            reason = run.get("gap") or "; ".join(filter(None, reasons)) or f"no score of a {level}"
            yield _MeasuredStep(run["run"], {}, reason)


def _section(name: tuple[str, str], steps: Sequence[_MeasuredStep], app: str) -> Html:
    criterion, level = name
    is_share = any("passRate" in step.point for step in steps)
    title = f"{criterion}{f', by {level}' if level else ''}: {'pass rate' if is_share else 'mean'}"
    heading = el("h2", link(title, "/trend", app=app, criterion=criterion))
    names = ("passRate", "passRateLow", "passRateHigh")
    names = names if is_share else ("mean", "meanIntervalLow", "meanIntervalHigh")
    dots = []
    for step in steps:
        label = f"{step.run['runId']} {step.point.get('appVersionId', '')}".strip()
        value, low, high = (step.point.get(name) for name in names)
        if value is None:
            dots.append(Dot(f"{label}: {step.gap or 'no outcome'}", None))
        else:
            dots.append(Dot(f"{label}: {percent(value) if is_share else number(value)}", value, low, high))
    rows = table(_TREND_HEADS, map(_step_cells, reversed(steps)))
    details = el("details", el("summary", "Figures"), rows)
    return el("section", heading, chart(title, dots, is_share=is_share), details)


def _step_cells(step: _MeasuredStep) -> list[str]:
    run, point = step.run, step.point
    counts = [str(point.get(name, 0)) for name in ("scoredCount", "noScoreCount", "errorCount")]
    return [
        *(run["runId"], run.get("day", ""), point.get("appVersionId", "")),
        between(point, "passRateLow", "passRateHigh", percent(point.get("passRate"))),
        between(point, "meanIntervalLow", "meanIntervalHigh", number(point.get("mean"))),
        *(counts if point else [el("span", step.gap, class_="open")]),
    ]


# The report of runs of a store: the page of `turnwise report`.

MOST_CONVERSATIONS = 10_000
_MOST_RUNS = 5


def stored_report(service: Service, names: Sequence[str]) -> Response:
    """Returns the report of some runs; raises ServiceError."""
    if not 1 <= len(set(names)) <= _MOST_RUNS or len(set(names)) < len(names):
        raise invalid("run", f"select 1 to {_MOST_RUNS} runs, each once")
    with field_errors("run"):
        wanted = [checked_name("run", name) for name in names]

    def read(connection: Connection) -> list[Run]:
        return [read_stored_run(connection, name, MOST_CONVERSATIONS) for name in wanted]

    try:
        runs = service.store.read(read)
        compared = compare_versions(runs)
    except ConfigError as error:
        raise ServiceError("FAILED_PRECONDITION", str(error)) from None
    gaps = [gap for run in runs for gap in run.gaps]
    told = Compared(compared.comparisons, [*gaps, *compared.refused])
    # The page states its own policy for scripts and styles; a policy for frames counts in a header only.
    headers = {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"}
    return HTMLResponse(report_page(runs, told), headers=headers)


# The pages of the apps of a store, and of the runs of an app.

_LISTED_RUNS = 50
_RUN_HEADS = (
    *("Compare", "Run", "State", "Begun", "App versions", "Conversations"),
    *("Passed", "Failed", "No verdict", "Rejected", "Cost", "Exit status"),
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
    listed = list_run_summaries(service, ListEvaluationRunsRequest.from_value(wanted))
    runs = listed.get("evaluationRuns", [])
    rows = table(_RUN_HEADS, (list(_run_cells(run)) for run in runs))
    two = el("p", el("button", "Report of the selected runs"), " (the first is compared with the others)")
    form = el("form", rows, two, method="get", action=address("/report"))
    content = form if runs else el("p", "The app has no run.")
    last = older("/runs", listed, app=app)
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
    error = f": {run['error']}" if run.get("error") else ""
    yield el("span", f"{run['state']}{error}", class_="" if is_complete else "bad" if error else "open")
    yield run.get("createTime", UNKNOWN_FIGURE)
    yield ", ".join(run.get("appVersions", ())) or UNKNOWN_FIGURE
    for name in ("conversationCount", "passCount", "failCount", "noVerdictCount", "rejectedRecordCount"):
        yield str(run.get(name, 0 if is_complete else UNKNOWN_FIGURE))
    cost = run.get("cost")
    yield UNKNOWN_FIGURE if cost is None else f"{cost:.2f}"
    yield str(run.get("exitStatus", UNKNOWN_FIGURE))


# The page of the comparison of two app versions.

_MOST_CHANGES = 100
_SIDES = ("base", "candidate")
_COUNTS = (
    ("Conversations compared", "ConversationCount"),
    ("Without a verdict", "NoVerdictCount"),
    ("Records rejected", "RejectedRecordCount"),
    ("Cases of this version alone", "OnlyCaseCount"),
)


def compare_page(service: Service, app: str, base: str, candidate: str) -> Response:
    """Returns the page; raises ServiceError."""
    versions = {"baseVersion": base, "candidateVersion": candidate}
    wanted = {"parent": app, **versions, "pageSize": _MOST_CHANGES}
    compared = compare_app_versions(service, CompareAppVersionsRequest.from_value(wanted))
    verdict = compared.get("verdict", {})
    parts = [_verdict(verdict), _sides(compared), _criteria(verdict), _changes(compared)]
    return page(f"{candidate} against {base}", navigation(app), *parts)


def _verdict(verdict: JsonObject) -> Html:
    if verdict.get("refusal"):
        return el("p", f"Not compared: {verdict['refusal']}", class_="bad")
    notes = [el("li", note) for note in verdict.get("notes", ())]
    sentence = el("p", el("strong", verdict.get("sentence", "Nothing is known of the verdicts.")))
    return joined(sentence, el("ul", *notes) if notes else "")


def _sides(compared: JsonObject) -> Html:
    verdict = compared.get("verdict", {})
    sides = [compared.get(side, {}) for side in _SIDES]
    rate = [between(side, "passRateLow", "passRateHigh", percent(side.get("passRate"))) for side in sides]
    rows = [["Pass rate of the results", *rate]]
    unstated = 0 if "sentence" in verdict else UNKNOWN_FIGURE
    rows += [
        [text, *(str(verdict.get(f"{side}{name}", unstated)) for side in _SIDES)] for text, name in _COUNTS
    ]
    names = [side.get("appVersionId", UNKNOWN_FIGURE) for side in sides]
    return joined(el("h2", "Versions"), table(("", *names), rows))


def _criteria(verdict: JsonObject) -> Html:
    rows = []
    for criterion in verdict.get("criteria", ()):
        difference = number(criterion.get("difference"))
        figures = [number(criterion.get("baseValue")), number(criterion.get("candidateValue"))]
        interval = between(criterion, "differenceLow", "differenceHigh", difference)
        pairs = str(criterion.get("pairCount", 0))
        rows.append([criterion["criterion"], criterion.get("sentence", ""), *figures, interval, pairs])
    for criterion in verdict.get("notCompared", ()):
        rows.append(
            [criterion["criterion"], f"not compared: {criterion.get('reason', '')}", *[UNKNOWN_FIGURE] * 4]
        )
    heads = ("Criterion", "Verdict", "Base", "Candidate", "Difference", "Pairs")
    return joined(el("h2", "Criteria"), table(heads, rows)) if rows else Html("")


def _changes(found: JsonObject) -> Html:
    rows = [
        [
            one.get("displayName") or one["evaluation"],
            one.get("change", UNKNOWN_FIGURE),
            *(f"{passes} of {passes + fails}" for passes, fails in verdicts),
        ]
        for one in found.get("changes", ())
        for verdicts in [
            [(one.get(f"{side}PassCount", 0), one.get(f"{side}FailCount", 0)) for side in _SIDES]
        ]
    ]
    if not rows:
        return Html("")
    more = (
        el("p", f"The first {_MOST_CHANGES} are shown.", class_="note") if found.get("nextPageToken") else ""
    )
    heads = ("Evaluation", "Change", "Passed (base)", "Passed (candidate)")
    return joined(el("h2", "Evaluations that changed"), table(heads, rows), more)
