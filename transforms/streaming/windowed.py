"""Computes metrics in event-time windows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, AfterProcessingTime, AfterWatermark
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows
from apache_beam.utils.windowed_value import PaneInfoTiming

from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.beam.metrics import MetricsFn, StateCoder
from turnwise.transforms.metrics.rows import RowWindow
from turnwise.transforms.metrics.state import MetricsState


class WindowMetrics(NamedTuple):
    """Sums of one app version in one window so far; do not modify them.

    Attributes:
        window_start: Seconds since the epoch.
        window_end: Seconds since the epoch, exclusive.
        app_version: "": unknown.
        pane: `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`, as the engine states. Beam's local engine reports the
            pane at the end of a window as LATE after an early pane.
        revision: Number of earlier panes; restarts with the process.
        state: The sums.
    """

    window_start: float
    window_end: float
    app_version: str
    pane: str
    revision: int
    state: MetricsState

    @property
    def row_window(self) -> RowWindow:
        """Window columns of its rows."""
        return RowWindow(self.window_start, self.window_end, self.pane, self.revision)


class _AccumulatePanesFn(InspectedDoFn):
    """Accumulates the panes of a window, so that the engine can discard earlier elements."""

    SUMS = ReadModifyWriteStateSpec("sums", StateCoder())
    FORGET = TimerSpec("forget", TimeDomain.WATERMARK)

    def __init__(self, lateness: float) -> None:
        self._lateness = lateness

    def process(
        self,
        element: tuple[str, MetricsState],
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
        sums: Any = beam.DoFn.StateParam(SUMS),
        forget: Any = beam.DoFn.TimerParam(FORGET),
    ) -> Iterator[WindowMetrics]:
        state, before = MetricsState(), sums.read()
        for part in (before, element[1]):
            if part is not None:
                state.merge(part)
        sums.write(state)
        if before is None:
            forget.set(window.max_timestamp() + self._lateness)
        timing = PaneInfoTiming.to_string(pane.timing)
        yield WindowMetrics(float(window.start), float(window.end), element[0], timing, pane.index, state)

    @on_timer(FORGET)
    def forget(self, sums: Any = beam.DoFn.StateParam(SUMS)) -> None:
        sums.clear()


class WindowedMetrics(beam.PTransform[PCollection[tuple[str, MetricsState]], PCollection[WindowMetrics]]):
    """Accumulates changes by app version and window, and emits the sums repeatedly.

    A window emits its sums every `pane_every` seconds while it is open and changes, when the watermark passes
    its end, and then at every change. Changes later than `window_lateness` after its end are dropped.
    """

    def __init__(
        self, rules: StreamRules, restored: "PCollection[tuple[str, MetricsState]] | None" = None
    ) -> None:
        super().__init__()
        self._rules, self._restored = rules, restored

    def expand(self, changes: "PCollection[tuple[str, MetricsState]]") -> "PCollection[WindowMetrics]":
        """Assigns windows, combines the changes of each pane, and accumulates the panes."""
        if self._restored is not None:
            changes = (changes, self._restored) | "WithRestored" >> beam.Flatten()
        rules = self._rules
        windowed = changes | "Window" >> beam.WindowInto(
            FixedWindows(rules.window),
            trigger=AfterWatermark(
                early=AfterProcessingTime(max(1, round(rules.pane_every))), late=AfterCount(1)
            ),
            accumulation_mode=AccumulationMode.DISCARDING,
            allowed_lateness=rules.window_lateness,
        )
        return (
            windowed
            | "SumPane" >> beam.CombinePerKey(MetricsFn())
            | "AddUp"
            >> beam.ParDo(_AccumulatePanesFn(rules.window_lateness)).with_input_types(
                tuple[str, MetricsState]
            )
        )
