"""Raises alerts on the windows of a stream, at most one per window and rule."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import ceil
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PCollection
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindows
from msgspec.structs import replace

from turnwise.schemas.config import STATUS, Alert, AlertRule, ScoreLevel
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import MessagePackCoder
from turnwise.transforms.beam.steps import InspectedDoFn
from turnwise.transforms.beam.windows import WindowMetrics
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.metrics.rows import status_tally
from turnwise.transforms.metrics.state import MetricsState, Tally, packed, unpacked
from turnwise.transforms.statistics.tests import SampleMoments, always_valid_p, mean_evidence, share_evidence
from turnwise.transforms.text.patterns import glob_matches

MAX_WINDOWS = 1000
"""Maximum number of stored windows per app version."""


class _Window(msgspec.Struct, frozen=True, array_like=True):
    """A stored window: packed sums for later baselines, the raised rules, and its position from 1."""

    sums: bytes
    raised: tuple[str, ...]
    number: int


class RaisedWindows(msgspec.Struct, frozen=True, array_like=True):
    """The latest windows by their start, and the number of all windows so far."""

    count: int = 0
    latest: dict[float, _Window] = {}


class AlertRaiser:
    """Evaluates rules on the panes of windows; what it knows of earlier windows is given and returned."""

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        self._rules = tuple(alert_rules)
        drops = [rule for rule in self._rules if rule.drop]
        self._needed = frozenset(rule.criterion for rule in drops)
        before = max((rule.drop.baseline for rule in drops if rule.drop), default=0)
        open_at_once = ceil(rules.window_lateness / rules.window) + 2
        self._kept = min(MAX_WINDOWS, before + open_at_once)

    def raised(
        self, window: WindowMetrics, earlier: RaisedWindows | None
    ) -> tuple[list[Alert], RaisedWindows]:
        """Returns the alerts of a pane, and the latest windows of its app version with it."""
        before = earlier or RaisedWindows()
        start, seen = window.window_start, before.latest
        alerts = []
        known = seen.get(start) or _Window(b"", (), before.count + 1)
        raised = known.raised
        for rule in self._rules:
            if rule.name not in raised:
                alert = evaluate_rule(rule, window, _baseline(rule, seen, start), known.number)
                if alert is not None:
                    raised = (*raised, rule.name)
                    alerts.append(alert)
        state = window.state
        tallies = {key: replace(t, sketch=None) for key, t in state.tallies.items() if key[0] in self._needed}
        # Of a baseline count verdicts and some criteria, without quantiles.
        sums = packed(MetricsState(state.conversations, 0, state.passes, state.fails, tallies))
        seen = {**seen, start: _Window(sums, raised, known.number)}
        latest = {time: seen[time] for time in sorted(seen)[-self._kept :]}
        return alerts, RaisedWindows(max(before.count, known.number), latest)


class _RaiseFn(InspectedDoFn):
    WINDOWS = ReadModifyWriteStateSpec("windows", MessagePackCoder(RaisedWindows))

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        self._raiser = AlertRaiser(rules, alert_rules)

    def process(
        self, element: tuple[str, WindowMetrics], windows: Any = beam.DoFn.StateParam(WINDOWS)
    ) -> list[Alert]:
        alerts, after = self._raiser.raised(element[1], windows.read())
        windows.write(after)
        return alerts


def _baseline(rule: AlertRule, seen: Mapping[float, _Window], start: float) -> MetricsState | None:
    """Returns the sums of the last windows before one; None: there are none, or the rule needs none."""
    if rule.drop is None:
        return None
    merged, number = MetricsState(), 0
    for time in sorted((time for time in seen if time < start), reverse=True):
        state = unpacked(seen[time].sums)
        if state.conversations:
            merged.merge(state)
            number += 1
        if number == rule.drop.baseline:
            break
    return merged if number else None


@beam.ptransform_fn
def RaiseAlerts(
    windows: "PCollection[WindowMetrics]", rules: StreamRules, alert_rules: Sequence[AlertRule]
) -> "PCollection[Alert]":
    """Evaluates the rules on every pane of a window; each rule raises at most one alert per window.

    Windows of an app version are compared with each other, so they share one global window.
    """
    keyed = windows | "KeyWindows" >> beam.Map(lambda window: (window.app_version, window))
    together = keyed | "AllWindows" >> beam.WindowInto(GlobalWindows())
    return together | "Raise" >> beam.ParDo(_RaiseFn(rules, alert_rules))


_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class _Finding(NamedTuple):
    """A met condition of a rule."""

    kind: str
    threshold: float
    baseline_value: float | None = None
    baseline_count: int | None = None
    p_value: float | None = None


def evaluate_rule(
    rule: AlertRule, window: WindowMetrics, baseline: MetricsState | None, number: int = 1
) -> Alert | None:
    """Returns the alert of a rule on a window; None: the rule does not hold, or there are too few values.

    A drop is tested at every pane, by a test that is valid however often it is made, against the sums of the
    windows before that the rule's `drop` needs. `number` is the position of the window among all of its app
    version, from 1.
    """
    if not glob_matches(rule.app_version, window.app_version):
        return None
    level, tally = _tally(window.state, rule)
    value, count = _measured(rule, tally)
    if value is None or (rule.measure != "count" and count < rule.min_count):
        return None
    if rule.above is not None and value > rule.above:
        finding: _Finding | None = _Finding("above", rule.above)
    # A low count is tested only at the end of the window.
    elif rule.below is not None and value < rule.below and (window.pane, rule.measure) != ("EARLY", "count"):
        finding = _Finding("below", rule.below)
    else:
        finding = _dropped(rule, level, tally, baseline, number)
    return None if finding is None else _alert(rule, window, level, value, count, finding)


def why_untested(rule: AlertRule, state: MetricsState, baseline: MetricsState | None, gap: str) -> str:
    """Returns why a rule that raised no alert was not tested, or not in full; "": it was.

    `gap` says why there is no baseline.
    """
    level, tally = _tally(state, rule)
    value, count = _measured(rule, tally)
    few = f"fewer values than its min_count of {rule.min_count}"
    if value is None or (rule.measure != "count" and count < rule.min_count):
        return few if count else "n/a: nothing to measure"
    if rule.drop is None:
        return ""
    if baseline is None:
        return gap
    value, count = _measured(rule, _level_tally(baseline, rule, level))
    return f"{few} in the baseline" if value is None or count < rule.min_count else ""


def _tally(state: MetricsState, rule: AlertRule) -> tuple[ScoreLevel, Tally]:
    """Returns the sums of a rule's level; without one, of whole conversations if there are any."""
    whole = _level_tally(state, rule, "conversation")
    if rule.criterion == STATUS or rule.level == "conversation" or (not rule.level and not whole.is_empty):
        return "conversation", whole
    return "turn", _level_tally(state, rule, "turn")


def _level_tally(state: MetricsState, rule: AlertRule, level: ScoreLevel) -> Tally:
    if rule.criterion == STATUS:
        return status_tally(state)
    merged = Tally()
    for (name, turn), tally in state.tallies.items():
        if name == rule.criterion and (turn is None) == (level == "conversation"):
            merged.merge(tally)
    return merged


def _measured(rule: AlertRule, tally: Tally) -> tuple[float | None, int]:
    decided, everything = tally.passes + tally.fails, tally.scored + tally.no_score
    if rule.measure == "pass_rate":
        return (tally.passes / decided if decided else None), decided
    if rule.measure == "no_score_rate":
        return (tally.no_score / everything if everything else None), everything
    if rule.measure == "count":
        return everything, everything
    if rule.measure == "mean":
        return tally.mean, tally.scored
    return tally.quantile(_QUANTILES[rule.measure]), tally.scored


def _dropped(
    rule: AlertRule, level: ScoreLevel, tally: Tally, baseline: MetricsState | None, number: int
) -> _Finding | None:
    """Tests a value against the windows before."""
    if rule.drop is None or baseline is None:
        return None
    base = _level_tally(baseline, rule, level)
    value, count = _measured(rule, base)
    if value is None or count < rule.min_count:
        return None
    evidence = _evidence(rule, tally, base)
    p_value = 1.0 if evidence is None else always_valid_p(evidence, number)
    if p_value > rule.drop.significance:
        return None
    return _Finding("drop", rule.drop.significance, value, count, p_value)


def _evidence(rule: AlertRule, tally: Tally, base: Tally) -> float | None:
    """Returns the evidence that the window is worse than the baseline; None: there are too few values."""
    if rule.measure == "pass_rate":
        return share_evidence(tally.passes, tally.passes + tally.fails, base.passes, base.passes + base.fails)
    now, before = _sample(tally), _sample(base)
    if now is None or before is None:
        return None
    kind = CRITERIA.get(rule.criterion)
    is_cost = kind is not None and kind.gate == "at_most"
    return mean_evidence(before, now) if is_cost else mean_evidence(now, before)


def _sample(tally: Tally) -> SampleMoments | None:
    mean, variance = tally.mean, tally.variance
    return None if mean is None or variance is None else SampleMoments(tally.scored, mean, variance)


def _alert(
    rule: AlertRule, window: WindowMetrics, level: ScoreLevel, value: float, count: int, finding: _Finding
) -> Alert:
    bounds = window.window_start, window.window_end
    start, end = (nanos_timestamp(round(seconds * 1e9)) for seconds in bounds)
    key = "\0".join((rule.name, window.app_version, start, end)).encode("utf-8", "replace")
    return Alert(
        name=f"alerts/a-{sha256(key).hexdigest()[:24]}",
        rule=rule.name,
        window_start=start,
        window_end=end,
        app_version=window.app_version or None,
        criterion=rule.criterion,
        level=level,
        measure=rule.measure,
        value=value,
        count=count,
        **finding._asdict(),
        message=f"{rule.name}: {rule.measure} of {rule.criterion} ({level}s) is {value:.4g} over {count}, "
        f"{_why(finding)}; app version {window.app_version or '(no version)'}, {start} to {end}",
    )


def _why(finding: _Finding) -> str:
    if finding.kind != "drop":
        return f"{finding.kind} {finding.threshold:.4g}"
    return (
        f"worse than {finding.baseline_value:.4g} over {finding.baseline_count} before "
        f"(such a drop by chance: {finding.p_value:.2g}; the rule alerts up to {finding.threshold:.2g})"
    )
