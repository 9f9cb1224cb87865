"""Reports the usage and cost of the judge."""

from collections import Counter
from collections.abc import Sequence

from turnwise.pipeline.report.flips import flips_document, flips_text
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.transforms.judging.limits import JudgeUsage, total_cost
from turnwise.transforms.judging.shared_places import BUDGET, stated_limits
from turnwise.transforms.scoring.config import INAPPLICABLE
from turnwise.transforms.scoring.evaluate import STATUS

UsageByModel = dict[str, JudgeUsage]


def judge_document(
    settings: RunSettings,
    usage: UsageByModel,
    rows: Sequence[MetricsByAppVersionRow],
    joint: JsonObject | None = None,
) -> JsonObject:
    """Returns the `judge` object of `run.json`.

    Args:
        settings: Settings of the run.
        usage: Usage of every model.
        rows: The rows of `metrics_by_app_version`.
        joint: Verdicts that say `not applicable`, and what panels and cascades did; None: nothing yet.
    """
    config = settings.judge.config
    document: JsonObject = {"backend": config.backend, "sample_rate": settings.sample_rate}
    if settings.judge.kind.connect:
        document |= {
            "model": _models(config),
            "concurrency": settings.judge.concurrency,
            "limits": _limits(settings),
            "cost": total_cost(usage, config.prices),
            "usage": {model: _figures(own) for model, own in sorted(usage.items())},
            **{name: found for name, found in (joint or {}).items() if name != INAPPLICABLE},
        }
    document[INAPPLICABLE] = (joint or {}).get(INAPPLICABLE, {})
    return document | {"flips": flips_document(rows)}


def _models(config: JudgeConfig) -> str:
    """Returns the name of the run's model, panel or cascade, as scores have it."""
    last = ", ".join(config.panel) or config.model
    return f"{config.cascade.model} > {last}" if config.cascade else last


def _figures(usage: JudgeUsage) -> JsonObject:
    figures = usage.figures()
    total = figures.pop("latency_ms")
    return {
        **figures,
        "unusable": dict(usage.unusable),
        "mean_latency_ms": total / usage.calls if usage.calls else None,
    }


def _limits(settings: RunSettings) -> JsonObject | None:
    judge = settings.judge
    limits = stated_limits(judge.config)
    if not limits:
        return None
    held_by = "judge_cache" if judge.shares_budget else "each worker" if judge.workers > 1 else "process"
    part = judge.per_worker or None
    return {**limits, "held_by": held_by, "workers": judge.workers if part else None, "per_worker": part}


def divided_text(settings: RunSettings) -> str:
    """Returns a line about limits that are divided; "": they are not."""
    judge = settings.judge
    part = judge.per_worker
    if not part:
        return ""
    figures = ", ".join(f"{name} {limit:g}" for name, limit in part.items())
    text = f"the judge's limits are divided by {judge.workers} workers: {figures} each"
    if part.keys().isdisjoint(BUDGET):
        return text
    return f"{text}; --judge_cache would share the budget: a file on one machine, else postgresql://HOST/DB"


def usage_of(figures: JsonObject) -> JudgeUsage:
    """Returns the usage of a model, of the figures that `judge_document` gives."""
    own = {name: number for name, number in figures.items() if name != "mean_latency_ms"}
    total = round((figures["mean_latency_ms"] or 0) * figures["calls"])
    return JudgeUsage(**own | {"unusable": Counter(own["unusable"]), "latency_ms": total})


def judge_text(settings: RunSettings, usage: UsageByModel, rows: Sequence[MetricsByAppVersionRow]) -> str:
    """Returns the lines about the judge; "" if there are none.

    Args:
        settings: Settings of the run.
        usage: Usage of every model.
        rows: The rows of `metrics_by_app_version`.
    """
    config = settings.judge.config
    kind = settings.judge.kind
    if kind.answer:
        undecided = sum(row["unscored"] for row in rows if row["criterion"] == STATUS)
        is_asked = settings.selection.judged or ((undecided or kind.is_judging) and settings.eval_cases)
        return kind.note if is_asked else ""
    lines = [f"judge: {model}: {_usage_text(own)}" for model, own in sorted(usage.items())]
    flips = flips_text(rows)
    return "\n".join(lines + _money_lines("cost", usage, config) + ([flips] if flips else []))


def _usage_text(usage: JudgeUsage) -> str:
    parts = [
        f"{usage.samples:,} answers ({usage.cached:,} cached) by {usage.calls:,} calls",
        f"{usage.tokens_in:,} + {usage.tokens_out:,} tokens",
    ]
    if usage.uncounted:
        parts.append(f"{usage.uncounted:,} calls without figures of tokens")
    if usage.calls:
        parts.append(f"{usage.latency_ms / usage.calls / 1000:.1f} s each")
    if usage.retries:
        parts.append(f"{usage.retries:,} retries")
    if usage.asked_again:
        parts.append(f"{usage.asked_again:,} asked once more")
    faults = sorted(usage.unusable.items())
    return ", ".join([*parts, *(f"{number:,} unusable: {kind}" for kind, number in faults)])


def estimate_text(settings: RunSettings, usage: UsageByModel) -> str:
    """Returns the estimated calls and tokens: if all samples agree, and at most."""
    config = settings.judge.config
    lines = [
        f"{model}: {own.calls:,} calls if answers agree, {own.samples:,} at the most; "
        f"about {own.tokens_in:,} tokens in and {own.tokens_out:,} out"
        for model, own in sorted(usage.items())
    ]
    return "\n".join([*lines, *_money_lines("about", usage, config)]) if lines else "no model would be asked"


def _money_lines(word: str, usage: UsageByModel, config: JudgeConfig) -> list[str]:
    if not usage or not config.prices:
        return []
    cost = total_cost(usage, config.prices)
    if cost is None:
        return ["cost unknown: a model has no price in the config, or did not state its tokens"]
    return [f"{word} {cost:,.2f} at the prices of the config"]
