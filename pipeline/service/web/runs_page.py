"""The pages of the apps of a store, and of the runs of an app."""

from collections.abc import Iterator

from sqlalchemy import Connection, select, union
from starlette.responses import Response

from turnwise.pipeline.service.runs import list_run_summaries
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.web.html import Html, el, page
from turnwise.pipeline.service.web.parts import UNKNOWN_FIGURE, address, link, navigation, older, table
from turnwise.pipeline.store.database import EVALUATIONS, RUNS
from turnwise.pipeline.store.urls import COMPLETED
from turnwise.schemas.ces.tools import ListEvaluationRunsRequest
from turnwise.schemas.jsonio import JsonObject

_PAGE = 50
_HEADS = (
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
    wanted = {"parent": app, "orderBy": "create_time", "pageSize": _PAGE, "pageToken": page_token}
    found = list_run_summaries(service, ListEvaluationRunsRequest.from_value(wanted))
    runs = found.get("evaluationRuns", [])
    rows = table(_HEADS, (list(_cells(run)) for run in runs))
    two = el("p", el("button", "Report of the selected runs"), " (the first is compared with the others)")
    form = el("form", rows, two, method="get", action=address("/report"))
    content = form if runs else el("p", "The app has no run.")
    last = older("/runs", found, app=app)
    return page(f"Runs of {app}", navigation(app), content, last, _compare_form(app))


def _compare_form(app: str) -> Html:
    fields = [
        el("label", f"{text} ", el("input", type="text", name=name, required="")) for name, text in _SIDES
    ]
    hidden = el("input", type="hidden", name="app", value=app)
    form = el("form", hidden, *fields, " ", el("button", "Compare"), method="get", action=address("/compare"))
    return el("section", el("h2", "Compare two app versions"), form)


_SIDES = (("base", "Base"), ("candidate", " Candidate"))


def _cells(run: JsonObject) -> Iterator[str]:
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
