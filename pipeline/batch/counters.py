"""Reads what a pipeline counted."""

from collections.abc import Mapping

from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.runner import PipelineResult

from turnwise.pipeline.report.judge import UsageByModel
from turnwise.transforms.beam.scoring import JUDGE_USAGE, UNUSABLE
from turnwise.transforms.beam.steps import NAMESPACE
from turnwise.transforms.judging.limits import JudgeUsage


def counters(result: PipelineResult) -> dict[str, int]:
    """Returns the numbers of Beam's counters by name, for runs that write nothing."""
    found: dict[str, int] = {}
    for counter in result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]:
        name = counter.key.metric.name
        found[name] = found.get(name, 0) + (counter.committed or 0)
    return found


def judge_usage(counts: Mapping[str, int]) -> UsageByModel:
    """Returns what was asked of every model, by the counts of a run."""
    usage: UsageByModel = {}
    for name, number in counts.items():
        if not name.startswith(JUDGE_USAGE):
            continue
        model, _, figure = name.removeprefix(JUDGE_USAGE).rpartition("|")
        own = usage.setdefault(model, JudgeUsage())
        if figure.startswith(UNUSABLE):
            own.unusable[figure.removeprefix(UNUSABLE)] += number  # type: ignore[index]
        else:
            setattr(own, figure, getattr(own, figure) + number)
    return usage
