"""Draws a figure over runs as SVG, in HTML in which every text is escaped."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import HTMLResponse

from turnwise.pipeline.service.http import PAGES
from turnwise.schemas.jsonio import JsonObject

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
    """Returns an element.

    Args:
        tag: Its name.
        *children: Markup, or texts to escape.
        **attributes: Its attributes; a trailing underscore is dropped, the others become hyphens.
    """
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
    """What a run measured.

    Attributes:
        label: The run and its figure in words, shown when it is pointed at.
        value: The figure; None: a gap.
        low: Lower end of its interval; None: not known.
        high: Upper end.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


class _Scale(NamedTuple):
    low: float
    high: float
    steps: int

    def x(self, place: int) -> float:
        inner = _WIDTH - _LEFT - _RIGHT
        return _LEFT + inner * (place + 0.5) / self.steps

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def chart(title: str, dots: Sequence[Dot], *, is_share: bool) -> Html:
    """Returns the chart; "" if no run has a value.

    Args:
        title: What is drawn, for people who do not see it.
        dots: The runs, the oldest first.
        is_share: Whether the scale is 0 to 1; otherwise it begins at 0 or the lowest value.
    """
    known = [value for dot in dots for value in (dot.value, dot.low, dot.high) if value is not None]
    if not known:
        return Html("")
    low, high = (0.0, 1.0) if is_share else (min(0.0, *known), max(known))
    scale = _Scale(low, high if high > low else low + 1.0, len(dots))
    size = {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "width": f"{_WIDTH:g}", "height": f"{_HEIGHT:g}"}
    return el("svg", el("title", title), *_axis(scale, is_share), *_drawn(dots, scale), role="img", **size)


def _axis(scale: _Scale, is_share: bool) -> Iterator[Html]:
    for value in (scale.low, scale.high):
        y = f"{scale.y(value):.1f}"
        text = f"{value:.0%}" if is_share else f"{value:.3g}"
        yield el("line", class_="axis", x1=f"{_LEFT:g}", x2=f"{_WIDTH - _RIGHT:g}", y1=y, y2=y)
        yield el("text", text, x=f"{_LEFT - 6:g}", y=y, text_anchor="end", dominant_baseline="middle")


def _drawn(dots: Sequence[Dot], scale: _Scale) -> Iterator[Html]:
    for (place, dot), (_, following) in pairwise(enumerate(dots)):
        if dot.value is not None and following.value is not None:
            ends = {"y1": dot.value, "y2": following.value}
            at = {name: f"{scale.y(value):.1f}" for name, value in ends.items()}
            yield el("line", class_="line", x1=f"{scale.x(place):.1f}", x2=f"{scale.x(place + 1):.1f}", **at)
    for place, dot in enumerate(dots):
        yield el("g", el("title", dot.label), *_marks(dot, scale, f"{scale.x(place):.1f}"))


def _marks(dot: Dot, scale: _Scale, x: str) -> Iterator[Html]:
    if dot.value is None:
        ends = {"y1": f"{_TOP:g}", "y2": f"{_HEIGHT - _BOTTOM:g}"}
        yield el("line", class_="gap", x1=x, x2=x, **ends)
        return
    if dot.low is not None and dot.high is not None:
        ends = {"y1": f"{scale.y(dot.low):.1f}", "y2": f"{scale.y(dot.high):.1f}"}
        yield el("line", class_="bar", x1=x, x2=x, **ends)
    yield el("circle", class_="dot", cx=x, cy=f"{scale.y(dot.value):.1f}", r="3")


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
