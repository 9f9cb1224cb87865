"""Tells the figures of a criterion in a run, or why there are none."""

from turnwise.pipeline.store.rows import VersionMetric
from turnwise.schemas.ces.tools import TrendPoint
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.statistics.tests import Interval, SampleMoments, mean_interval

_SAME = (
    *("criterion", "level", "unit", "mean", "mean_low", "mean_high", "stddev"),
    *("pass_rate", "pass_rate_low", "pass_rate_high", "p50", "p90", "p99"),
)


def gap_point(criterion: str, version: str, why: str) -> JsonObject:
    """Returns the TrendPoint of a criterion that was not measured in proto3 JSON."""
    return TrendPoint(criterion=criterion, app_version_id=version, gap=why).to_value()


def trend_point(own: VersionMetric) -> JsonObject:
    """Returns the TrendPoint of stored figures in proto3 JSON."""
    figures = own._asdict()
    interval = _interval(own)
    point = TrendPoint(
        **{name: figures[name] for name in _SAME},
        app_version_id=own.version_id,
        gap="" if own.scored else _without_value(own),
        score_count=own.scores,
        scored_count=own.scored,
        unscored_count=own.unscored,
        error_count=own.errors,
        pass_count=own.pass_count,
        fail_count=own.fail_count,
        mean_interval_low=interval.low if interval else None,
        mean_interval_high=interval.high if interval else None,
        conversation_count=own.conversations or 0,
        turn_count=own.turns or 0,
    )
    return point.to_value()


def _interval(own: VersionMetric) -> Interval | None:
    if own.mean is None or own.stddev is None:
        return None
    return mean_interval(SampleMoments(own.scored, own.mean, own.stddev**2))


def _without_value(own: VersionMetric) -> str:
    errors = f"; it failed with an error {own.errors} times" if own.errors else ""
    return f"none of {own.scores} scores has a value{errors}" if own.scores else f"no score{errors}"
