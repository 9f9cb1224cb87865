"""The routes of the web view. All of its pages only read."""

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.service.http import PAGES, may_write
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.web import TrendQuery, trend_page
from turnwise.pipeline.service.web.compare_page import compare_page
from turnwise.pipeline.service.web.html import el, page
from turnwise.pipeline.service.web.parts import navigation
from turnwise.pipeline.service.web.runs_page import apps_page, runs_page
from turnwise.pipeline.service.web.stored_report import stored_report

_Page = Callable[[Service, Request], Response]


def _apps(service: Service, request: Request) -> Response:
    return apps_page(service)


def _runs(service: Service, request: Request) -> Response:
    return runs_page(service, _given(request, "app"), _given(request, "page_token"))


def _trend(service: Service, request: Request) -> Response:
    return trend_page(service, TrendQuery(*(_given(request, name) for name in TrendQuery._fields)))


def _compare(service: Service, request: Request) -> Response:
    return compare_page(service, *(_given(request, name) for name in ("app", "base", "candidate")))


def _report(service: Service, request: Request) -> Response:
    return stored_report(service, request.query_params.getlist("run"))


def _given(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


_PAGES: dict[str, _Page] = {
    "": _apps,
    "/runs": _runs,
    "/trend": _trend,
    "/compare": _compare,
    "/report": _report,
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
