"""The page of the trends of criteria over the runs of an app."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from starlette.responses import Response

from turnwise.pipeline.service.chart import Dot, chart
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.trend import get_criterion_trend
from turnwise.pipeline.service.web.html import Html, el, page
from turnwise.pipeline.service.web.parts import between, link, navigation, number, older, percent, table
from turnwise.schemas.ces.tools import GetCriterionTrendRequest
from turnwise.schemas.jsonio import JsonObject

_PAGE = 30
_HEADS = ("Run", "Day", "App version", "Pass rate", "Mean", "Scored", "Unscored", "Errors")


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
    paging = {"pageSize": _PAGE, "pageToken": query.page_token}
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
    rows = table(_HEADS, (list(_cells(step)) for step in reversed(steps)))
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


def _cells(step: _MeasuredStep) -> Iterator[str]:
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
