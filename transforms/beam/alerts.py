"""Raises alerts on the windows of a stream, at most one per window and rule."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PCollection
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindows
from msgspec.structs import replace

from turnwise.schemas.config import Alert, AlertRule
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.streaming.alert_rules import evaluate_rule
from turnwise.transforms.streaming.coders import MessagePackCoder
from turnwise.transforms.streaming.windowed import WindowMetrics

MAX_WINDOWS = 1000
"""Maximum number of stored windows per app version."""


class _Window(msgspec.Struct, frozen=True, array_like=True):
    """A stored window: packed sums for later baselines, the raised rules, and its position from 1."""

    sums: bytes
    raised: tuple[str, ...]
    number: int


class _Windows(msgspec.Struct, frozen=True, array_like=True):
    """The latest windows by their start, and the number of all windows so far."""

    count: int = 0
    latest: dict[float, _Window] = {}


class _RaiseFn(InspectedDoFn):
    WINDOWS = ReadModifyWriteStateSpec("windows", MessagePackCoder(_Windows))

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        self._rules = tuple(alert_rules)
        drops = [rule for rule in self._rules if rule.drop]
        self._needed = frozenset(rule.criterion for rule in drops)
        before = max((rule.drop.baseline for rule in drops if rule.drop), default=0)
        open_at_once = ceil(rules.window_lateness / rules.window) + 2
        self._kept = min(MAX_WINDOWS, before + open_at_once)

    def process(
        self, element: tuple[str, WindowMetrics], windows: Any = beam.DoFn.StateParam(WINDOWS)
    ) -> Iterator[Alert]:
        window, before = element[1], windows.read() or _Windows()
        start, seen = window.window_start, before.latest
        known = seen.get(start) or _Window(b"", (), before.count + 1)
        raised = known.raised
        for rule in self._rules:
            if rule.name not in raised:
                alert = evaluate_rule(rule, window, _baseline(rule, seen, start), known.number)
                if alert is not None:
                    raised = (*raised, rule.name)
                    yield alert
        seen = {**seen, start: _Window(packed(_part(window.state, self._needed)), raised, known.number)}
        latest = {time: seen[time] for time in sorted(seen)[-self._kept :]}
        windows.write(_Windows(max(before.count, known.number), latest))


def _part(state: MetricsState, criteria: frozenset[str]) -> MetricsState:
    """Returns the sums for a baseline: verdicts and some criteria, without quantiles."""
    tallies = {key: replace(t, sketch=None) for key, t in state.tallies.items() if key[0] in criteria}
    return MetricsState(state.conversations, 0, state.passes, state.fails, tallies)


def _baseline(rule: AlertRule, seen: Mapping[float, _Window], start: float) -> MetricsState | None:
    """Returns the sums of the last windows before one; None: there are none, or the rule needs none."""
    if rule.drop is None:
        return None
    merged, found = MetricsState(), 0
    for time in sorted((time for time in seen if time < start), reverse=True):
        state = unpacked(seen[time].sums)
        if state.conversations:
            merged.merge(state)
            found += 1
        if found == rule.drop.baseline:
            break
    return merged if found else None


class RaiseAlerts(beam.PTransform[PCollection[WindowMetrics], PCollection[Alert]]):
    """Evaluates the rules on every pane of a window; each rule raises at most one alert per window."""

    def __init__(self, rules: StreamRules, alert_rules: Sequence[AlertRule]) -> None:
        super().__init__()
        self._rules, self._alert_rules = rules, alert_rules

    def expand(self, windows: "PCollection[WindowMetrics]") -> "PCollection[Alert]":
        """Keys by app version; windows are compared with each other, so they share one global window."""
        keyed = windows | "KeyWindows" >> beam.Map(_keyed)
        together = keyed | "AllWindows" >> beam.WindowInto(GlobalWindows())
        return together | "Raise" >> beam.ParDo(_RaiseFn(self._rules, self._alert_rules))


def _keyed(window: WindowMetrics) -> tuple[str, WindowMetrics]:
    return window.app_version, window
