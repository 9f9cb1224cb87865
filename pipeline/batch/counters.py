"""Reads the counters of a finished pipeline."""

from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.runner import PipelineResult

from turnwise.pipeline.report.judge import UsageByModel
from turnwise.transforms.beam.counters import NAMESPACE
from turnwise.transforms.beam.judge_turns import JUDGE_USAGE, UNUSABLE
from turnwise.transforms.judging.limits.counts import JudgeUsage


def counters(result: PipelineResult, namespace: str = NAMESPACE) -> dict[str, int]:
    """Returns the numbers of a namespace's counters, by name."""
    found: dict[str, int] = {}
    for counter in result.metrics().query(MetricsFilter().with_namespace(namespace))["counters"]:
        name = counter.key.metric.name
        found[name] = found.get(name, 0) + (counter.committed or 0)
    return found


def judge_usage(result: PipelineResult) -> UsageByModel:
    """Returns what was asked of every model."""
    usage: UsageByModel = {}
    for name, number in counters(result, JUDGE_USAGE).items():
        model, _, figure = name.rpartition("|")
        own = usage.setdefault(model, JudgeUsage())
        if figure.startswith(UNUSABLE):
            own.unusable[figure.removeprefix(UNUSABLE)] += number  # type: ignore[index]
        else:
            setattr(own, figure, getattr(own, figure) + number)
    return usage
