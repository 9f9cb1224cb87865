"""Reports the verdicts of judges that say `not applicable`, and what panels and cascades did."""

from collections.abc import Mapping

from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.scoring.config import (
    INAPPLICABLE,
    VERDICTS,
    cascade_counts,
    cascade_figures,
    panel_counts,
    panel_figures,
    verdict_counts,
)


def joint_document(settings: RunSettings, counts: Mapping[str, int]) -> JsonObject:
    """Returns `not_applicable`, `panels` and `cascades` of the `judge` object of `run.json`, by criterion.

    Args:
        settings: Settings of the run.
        counts: What the run counted, by name.
    """
    options = {criterion.name: criterion.options for criterion in settings.judged}
    config = settings.judge.config
    panels = {
        name: panel_figures(options[name].panel, found)
        for name, found in panel_counts(counts).items()
        if name in options
    }
    cascades = {
        name: cascade_figures(cascade.model, found, config.prices, config.candidates)
        for name, found in cascade_counts(counts).items()
        if name in options and (cascade := options[name].cascade)
    }
    return {"not_applicable": _not_applicable(counts), "panels": panels, "cascades": cascades}


def _not_applicable(counts: Mapping[str, int]) -> JsonObject:
    return {
        name: {
            VERDICTS: found[VERDICTS],
            INAPPLICABLE: found[INAPPLICABLE],
            "share": found[INAPPLICABLE] / found[VERDICTS],
        }
        for name, found in sorted(verdict_counts(counts).items())
    }


def joint_text(joint: JsonObject) -> str:
    """Returns the lines about verdicts that say `not applicable`, panels and cascades; "": there are none."""
    inapplicable = ", ".join(
        f"{name} {found[INAPPLICABLE]:,} of {found[VERDICTS]:,} verdicts ({found['share']:.1%})"
        for name, found in joint.get(INAPPLICABLE, {}).items()
    )
    panels = (f"panel: {name}: {_panel_text(found)}" for name, found in joint.get("panels", {}).items())
    cascades = (
        f"cascade: {name}: {_cascade_text(found)}" for name, found in joint.get("cascades", {}).items()
    )
    lines = [f"judge: not applicable: {inapplicable}"] if inapplicable else []
    return "\n".join([*lines, *panels, *cascades])


def _panel_text(found: JsonObject) -> str:
    alpha = "not defined" if found["alpha"] is None else f"{found['alpha']:.2f}"
    parts = [f"{found['decided']:,} of {found['questions']:,} questions decided"]
    if found["agreement"] is not None:
        parts.append(f"agreement {found['agreement']:.0%}")
    return (
        f"{', '.join([*parts, f'alpha {alpha}'])}; {'; '.join(map(_member_text, found['members'].items()))}"
    )


def _member_text(entry: tuple[str, JsonObject]) -> str:
    model, found = entry
    bias = "bias unknown" if found["bias"] is None else f"bias {found['bias']:+.0%}"
    unmeasured = f", {found['unmeasured']:,} without a verdict" if found["unmeasured"] else ""
    return f"{model} {bias}{unmeasured}"


def _cascade_text(found: JsonObject) -> str:
    unsure = ", ".join(f"{number:,} {kind}" for kind, number in found["unsure"].items() if number)
    saved = ", ".join(_saved_text(kind, number) for kind, number in found["saved"].items())
    why = f" ({unsure})" if unsure else ""
    return f"{found['went_on']:,} of {found['questions']:,} questions went on{why}; saved about {saved}"


def _saved_text(kind: str, number: float | None) -> str:
    if number is None:
        return f"{kind} unknown"
    return f"cost {number:,.2f}" if kind == "cost" else f"{number:,} {kind}"
