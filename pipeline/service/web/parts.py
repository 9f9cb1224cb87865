"""Parts that several pages of the web view have."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from turnwise.pipeline.service.http import PAGES
from turnwise.pipeline.service.web.html import Html, el, joined
from turnwise.schemas.jsonio import JsonObject

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


def between(one: JsonObject, low: str, high: str, text: str) -> str:
    """Returns a figure with its interval, if that is known."""
    if one.get(low) is None or one.get(high) is None:
        return text
    shown = percent if text.endswith("%") else number
    return f"{text} ({shown(one[low])} to {shown(one[high])})"


def older(place: str, page: JsonObject, **query: str) -> Html:
    """Returns the link to the next page; "": this is the last one."""
    token = page.get("nextPageToken", "")
    return el("p", link("Older", place, page_token=token, **query)) if token else Html("")
