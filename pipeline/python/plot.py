"""Draws the criteria of a run by matplotlib, where that is installed."""

from typing import TYPE_CHECKING

from turnwise.schemas.report import CriterionFigure, CriterionRow
from turnwise.transforms.decisions.report.collect import collect, run_names, short_names
from turnwise.transforms.decisions.report.figures import criterion_rows
from turnwise.transforms.decisions.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARE = "share that passes (%)"


def plot(run: Run) -> "Figure":
    """Returns the figures of the report's table of criteria as a drawing; what has no value is left out.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    collected = collect([run])
    names = [*short_names(collected.versions, run_names([run]))]
    panels: dict[str, list[CriterionRow]] = {}
    for row in criterion_rows(collected):
        values = [figure for figure in row.figures if figure is not None and figure.mean is not None]
        if values:
            is_share = any(figure.share is not None for figure in values)
            panels.setdefault(_SHARE if is_share else f"mean ({row.unit})", []).append(row)
    sizes = [len(rows) for rows in panels.values()] or [1]
    figure, axes = pyplot.subplots(
        len(sizes),
        figsize=(8, 1 + len(sizes) + 0.4 * sum(sizes)),
        squeeze=False,
        layout="constrained",
        height_ratios=sizes,
    )
    for (unit, rows), panel in zip(panels.items(), axes[:, 0], strict=False):
        for i, name in enumerate(names):
            shift = 0.4 * (i - (len(names) - 1) / 2) / len(names)
            points = [(index + shift, _point(row.figures[i], unit)) for index, row in enumerate(rows)]
            drawn = [(index, *point) for index, point in points if point is not None]
            places, middles, below, above = zip(*drawn, strict=True) if drawn else ((), (), (), ())
            panel.errorbar(middles, places, xerr=[below, above], fmt="o", capsize=3, label=name)
        panel.set_yticks(range(len(rows)), [row.name for row in rows])
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.set_xlim(0, 101 if unit == _SHARE else None)
        panel.set_xlabel(unit)
    axes[0, 0].set_title(
        "Criteria by app version, with 95 % intervals" if panels else "No criterion has a value"
    )
    if panels:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, title="app version", loc="outside lower center", ncols=3)
    pyplot.close(figure)  # a notebook shows what is returned, and shows it once
    return figure


def _point(figure: CriterionFigure | None, unit: str) -> tuple[float, float, float] | None:
    """Returns a value and how far its interval reaches below and above; None: there is no value."""
    if figure is None:
        return None
    value = figure.share if unit == _SHARE else figure.mean
    if value is None:
        return None
    low, high = (value if bound is None else bound for bound in (figure.low, figure.high))
    scale = 100 if unit == _SHARE else 1
    return scale * value, scale * max(0.0, value - low), scale * max(0.0, high - value)
