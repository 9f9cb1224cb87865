"""Starts a run again in one process, when records of several workers turn out to belong together."""

from collections.abc import Mapping

import apache_beam as beam
from msgspec.structs import replace

from turnwise.pipeline.batch.build import build_end, build_scoring
from turnwise.pipeline.batch.counters import judge_usage
from turnwise.pipeline.io.run_files import RunSink
from turnwise.pipeline.io.sources import Source
from turnwise.pipeline.settings.run import RunSettings
from turnwise.transforms.beam.scoring import JUDGE_USAGE
from turnwise.transforms.beam.steps import OF_RUN
from turnwise.transforms.judging.limits import spent_on
from turnwise.transforms.judging.shared_places import NOTHING


def build_again(
    root: beam.Pipeline,
    logs: Source,
    cases: Source | None,
    settings: RunSettings,
    sink: RunSink,
    counts: Mapping[str, int],
) -> None:
    """Adds a whole run to a pipeline, whose judge has what an earlier attempt left of its limits.

    Args:
        root: The pipeline.
        logs: Source of conversation logs.
        cases: Source of eval cases; None: there are none.
        settings: Settings of the run, with several workers.
        sink: Sink for the tables.
        counts: What the workers of the earlier attempt counted; what their judge was asked counts again.
    """
    alone = _alone(settings, counts)
    scored = build_scoring(root, logs, cases, alone, sink)
    asked = {name: number for name, number in counts.items() if name.startswith(JUDGE_USAGE)}
    earlier = root | "Earlier" >> beam.Create([(OF_RUN, asked)], reshuffle=False)
    build_end(root, scored._replace(told=[*scored.told, earlier]), alone, sink)


def _alone(settings: RunSettings, counts: Mapping[str, int]) -> RunSettings:
    """Returns the settings for one process, whose judge has all that is left of the limits."""
    judge = settings.judge
    spent = NOTHING if judge.shares_budget else spent_on(judge_usage(counts), judge.config.prices)
    return replace(settings, workers=1, judge=replace(judge, workers=1, spent=spent))
