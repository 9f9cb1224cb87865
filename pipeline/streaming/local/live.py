"""Updates the metrics files and the terminal view once a second while a stream runs."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from msgspec import Struct

from turnwise.pipeline.io.terminal import clipped
from turnwise.pipeline.report.terminal import version_table
from turnwise.pipeline.streaming.inputs.base import StreamSource
from turnwise.pipeline.streaming.local.counts import stream_counts
from turnwise.pipeline.streaming.local.engine import Engine
from turnwise.pipeline.streaming.local.steps import Runtime
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import PROGRESS
from turnwise.transforms.judging.routes import JUDGING

_EVERY = 1.0
_CLEAR_BELOW = "\x1b[J"


class Snapshot(Struct, frozen=True):
    """The figures of the terminal view.

    Attributes:
        seconds: Seconds since the start.
        rates: Conversations and turns per second, since the last snapshot.
        scored: Conversations so far, over all processes.
        waiting: Records in flight.
        held: Of these, events in open sessions.
        backlog: Records or bytes that wait at the source; None: unknown.
        asking: Judge calls in flight.
        rows: Metrics by app version of the newest window.
        failures: App version -> number of failures.
        lost: Number of all failures.
    """

    seconds: float
    rates: tuple[float, float]
    scored: int
    waiting: int
    held: int
    backlog: int | None
    asking: int
    rows: Sequence[MetricsByAppVersionRow]
    failures: dict[str, int]
    lost: int


def view(shot: Snapshot, criteria: Sequence[str]) -> list[str]:
    """Returns the lines of the terminal view."""
    clock = f"{int(shot.seconds) // 3600:02}:{int(shot.seconds) // 60 % 60:02}:{int(shot.seconds) % 60:02}"
    backlog = "" if shot.backlog is None else f", backlog {shot.backlog:,}"
    lines = [
        f"turnwise stream   {clock}   ctrl-c: stop",
        f"{shot.rates[0]:,.1f} conversations/s, {shot.rates[1]:,.1f} turns/s; {shot.scored:,} results, "
        f"{shot.lost:,} failures",
        f"in flight {shot.waiting - shot.held:,}, in open sessions {shot.held:,}{backlog}; "
        f"judge calls in flight {shot.asking:,}",
    ]
    if shot.rows:
        window = shot.rows[0]
        lines += ["", f"window {window['window_start']} to {window['window_end']}"]
        lines += version_table(shot.rows, criteria, shot.failures).split("\n")
    return lines


class LiveView:
    """Refreshes metrics files and terminal view in a thread."""

    def __init__(
        self, runtime: Runtime, source: StreamSource, engine: Engine, criteria: Sequence[str]
    ) -> None:
        self._runtime, self._source, self._engine, self._criteria = runtime, source, engine, criteria
        self._started = self._looked = monotonic()
        self._before = (PROGRESS.conversations, PROGRESS.turns)
        self._shown = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Refreshes while the body runs."""
        done = Event()
        thread = Thread(target=self._refresh, args=(done,), name="turnwise-live", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            if self._shown:
                sys.stderr.write(f"\x1b[{self._shown}F{_CLEAR_BELOW}")

    def _refresh(self, done: Event) -> None:
        is_terminal = sys.stderr.isatty()
        while not done.wait(_EVERY):
            try:
                self._runtime.write_metrics()
            except OSError as error:
                self._engine.fail(error)
            if is_terminal:
                self._show()

    def _show(self) -> None:
        width, height = os.get_terminal_size(sys.stderr.fileno())
        lines = view(self._snapshot(), self._criteria)
        if width and height:
            lines = [clipped(line, width - 1) for line in lines[: height - 1]]
        up = f"\x1b[{self._shown}F" if self._shown else ""
        sys.stderr.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + _CLEAR_BELOW)
        sys.stderr.flush()
        self._shown = len(lines)

    def _snapshot(self) -> Snapshot:
        now, done = monotonic(), (PROGRESS.conversations, PROGRESS.turns)
        elapsed = max(now - self._looked, 1e-9)
        rates = ((done[0] - self._before[0]) / elapsed, (done[1] - self._before[1]) / elapsed)
        self._looked, self._before = now, done
        counts = stream_counts(self._runtime.store.counts)
        return Snapshot(
            seconds=now - self._started,
            rates=rates,
            scored=counts["results"],
            waiting=self._runtime.in_flight.waiting,
            held=PROGRESS.held,
            backlog=self._source.backlog(),
            asking=JUDGING.asking,
            rows=self._runtime.metrics.window_rows(),
            failures=counts["failures_by_version"],
            lost=sum(counts["failures"].values()),
        )
