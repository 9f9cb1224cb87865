"""Draws a figure over runs as SVG: a dot with its interval for each run, and a gap where there is none."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from turnwise.pipeline.service.web.html import Html, el

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
