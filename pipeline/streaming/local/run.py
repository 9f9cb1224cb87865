"""Runs a stream in this process."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from msgspec.structs import replace

from turnwise.pipeline.batch.process import calm_collector, drained_by_signal
from turnwise.pipeline.batch.run import ALERT_PROBLEM, keep_inputs, open_own_judge
from turnwise.pipeline.io import run_writer
from turnwise.pipeline.io.case_book import CaseBook, case_places
from turnwise.pipeline.io.sinks import open_changes, prepare_service
from turnwise.pipeline.io.terminal import clipped, complain, printable, wrapped
from turnwise.pipeline.report.ending import end_run, report
from turnwise.pipeline.report.run_counts import RunCounts
from turnwise.pipeline.report.terminal import version_table, window_lines
from turnwise.pipeline.runs.directory import written_run
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.pipeline.streaming.alerts import open_alert_sink
from turnwise.pipeline.streaming.inputs.base import SourceOptions, StreamSource
from turnwise.pipeline.streaming.inputs.open import left_before, open_source
from turnwise.pipeline.streaming.local.counts import InFlightRecords, stream_counts
from turnwise.pipeline.streaming.local.loop import Engine, StreamLoop
from turnwise.pipeline.streaming.local.storage import MetricsFiles, Runtime, StreamStorage
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, counted, grouped, is_local, shown_url
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import PROGRESS, RUN_FILE
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.judges import JUDGING
from turnwise.transforms.judging.setup import WAITING, close_judges
from turnwise.transforms.metrics.state import version_rows


def run_stream(settings: RunSettings) -> int:
    """Scores conversations as they arrive, until a limit or a signal ends the stream; returns an exit status.

    A stream in the output directory is continued where it stopped. Raises ConfigError if options or inputs
    are wrong (nothing was run then), and OSError if the source or the output failed.
    """
    if not is_local(settings.output):
        what = "a stream in this process writes into a local directory; other runners write to any filesystem"
        raise ConfigError(f"--output {settings.output}: {what}")
    run_writer.check_directory(settings.output, settings.overwrite or _holds_stream(settings))
    open_alert_sink(settings.stream.alerts, Path(settings.output) / run_writer.ALERTS_FILE)
    try_judge(settings)
    for sink_place in settings.places:
        is_new = settings.overwrite or not _holds_stream(settings)
        prepare_service(sink_place._replace(is_new=is_new))
    keep_inputs(settings)
    open_own_judge(settings)
    stop = Event()
    with run_writer.locked(settings.output, settings.run), ExitStack() as stack:
        stack.enter_context(drained_by_signal(stop.set))
        if settings.overwrite:
            run_writer.clear_directory(settings.output)
        is_new = not _holds_stream(settings)
        if is_new:
            run_writer.clear_unfinished(settings.output)
        try:
            store = StreamStorage(Path(settings.output), settings.stream.rules)
        except ValueError as error:
            raise ConfigError(f"--output {settings.output}: {error}") from None
        stack.callback(store.close)
        try:
            settings = _continued(settings, store)
            store.run = settings.run
            if settings.places:
                store.service = open_changes(settings.places)
                store.service.stop = stop
            limit, attribute = settings.max_record_bytes, settings.stream.timestamp_attribute
            options = SourceOptions(limit, attribute, Path(settings.output), settings.input_format)
            left = left_before(settings.input, options, store.checkpoints)
            source = open_source(settings.input, options, store.checkpoints)
        except ConfigError:
            if is_new:
                run_writer.clear_directory(settings.output)
            raise
        stack.callback(source.close)
        # What an earlier process concluded does not hold any more, also if this one is killed.
        (Path(settings.output) / RUN_FILE).unlink(missing_ok=True)
        try:
            loop = _stream(settings, store, source, stop)
            store.compact()
            return _report(settings, store, loop, source, left)
        except OSError as error:
            raise run_writer.name_full_disk(error, settings.output) from None


def _holds_stream(settings: RunSettings) -> bool:
    return (Path(settings.output) / run_writer.PROGRESS_FILE).is_file()


def _continued(settings: RunSettings, store: StreamStorage) -> RunSettings:
    """Returns the settings with the run id and time of the stream's first process; raises ConfigError."""
    text = settings.config.model_dump_json(exclude={"gate"}) + repr(settings.stream.rules.window)
    present = sha256(text.encode()).hexdigest(), shown_url(settings.store)
    digest, _, address = store.meta("config", " ".join(present).strip()).partition(" ")
    if (digest, address) != present:
        what = f"holds a stream with --store {address}" if address else "holds a stream without --store"
        if digest != present[0]:
            what = "holds a stream of another config or window"
        raise ConfigError(f"--output {settings.output}: {what}; --overwrite replaces it")
    run_id = store.meta("run_id", settings.run.run_id)
    create_time = store.meta("create_time", settings.run.create_time)
    return replace(settings, run=replace(settings.run, run_id=run_id, create_time=create_time))


def _stream(settings: RunSettings, store: StreamStorage, source: StreamSource, stop: Event) -> StreamLoop:
    """Runs the stream, or raises what ended it early; returns what drove it."""
    stream, directory = settings.stream, Path(settings.output)
    sums = store.sums.all()
    metrics, places = MetricsFiles(directory, settings.run.run_id, sums), case_places(settings)
    metrics.send = store.send if store.service else None
    cases = None if places is None else CaseBook(places)
    runtime = Runtime(store, InFlightRecords(source.settle), metrics, cases)
    engine = Engine(source, runtime, stream, settings.run, stop)
    calm_collector()
    loop = StreamLoop(settings, runtime, sums)
    try:
        with LiveView(runtime, source, engine, settings.criteria_names).running():
            loop.run(engine.events())
    except AuthenticationError:
        close_judges()  # what is in flight is refused, too: nobody is told to wait for it
        raise
    finally:
        if JUDGING.asking:
            complain(WAITING)
        close_judges()
    loop.late = metrics.complete(store.sums.all(), stream.rules.window)
    runtime.write_metrics()
    engine.check()
    return loop


def _report(
    settings: RunSettings, store: StreamStorage, loop: StreamLoop, source: StreamSource, left: list[str]
) -> int:
    ends, problems = source.unread(), store.refused_rows()
    unread = [*left, *source.refused(), *ends]
    if loop.alerts.unsent:
        problems.append(f"{ALERT_PROBLEM}{loop.alerts.unsent}; start again to send them")
    if ends:
        lost = f"{counted(len(ends), 'input')} could not be read to the end"
        step = "start again when the rest is there"
        problems.append(f"{lost}: an unknown number of records is missing; {step}")
    totals = sorted(store.sums.totals.items())
    rows = [row for entry in totals for row in version_rows(entry, settings.run.run_id)]
    counts = stream_counts(store.counts)
    counts["late_conversations"], counts["unread_ends"] = loop.late, len(unread)
    tables: JsonObject = {"folder": "."}
    made = store.counts, JUDGING.judged, rows, tables, partial(written_run, settings.output)
    document = end_run(settings, *made, counts=counts, unread=unread, lost=problems)
    run_writer.write_run_file(settings.output, document)
    status = report(settings, rows, document)
    untested = {} if loop.raiser is None else loop.raiser.untested
    for why, names in grouped((why, name) for name, why in untested.items()).items():
        complain(f"alert rules not tested: {', '.join(names)}: {why}")
    return status


_EVERY, _LINE_EVERY = 1.0, 60.0
_WINDOWS_SHOWN, _ALERTS_SHOWN = 3, 3
_CLEAR_BELOW = "\x1b[J"
_Rows = Sequence[MetricsByAppVersionRow]


def first_lines(
    seconds: float, rates: tuple[float, float], counts: RunCounts, load: tuple[int, int, int | None, int]
) -> list[str]:
    """Returns the lines that say how the stream goes: `rates` are conversations and turns per second.

    The load: records in flight; those of them that are events in open sessions; what waits at the source
    (records or bytes; None: unknown); and judge calls in flight.
    """
    waiting, held, backlog, asking = load
    known = "" if backlog is None else f", backlog {backlog:,}"
    return [
        f"turnwise stream   {_clock(seconds)}   ctrl-c: stop",
        f"{rates[0]:,.1f} conversations/s, {rates[1]:,.1f} turns/s; {_figures(counts)}",
        f"in flight {waiting - held:,}, in open sessions {held:,}{known}; judge calls in flight {asking:,}",
    ]


def tables(
    alerts: Sequence[str], windows: _Rows, totals: _Rows, names: Sequence[str], counts: RunCounts, width: int
) -> list[str]:
    """Returns the lines below them, for so many columns: alerts, the newest windows, and all windows."""
    lines = []
    if alerts:
        texts = (wrapped(f"  {printable(alert)}", width, "    ") for alert in alerts)
        lines += ["", "last alerts", *(line for text in texts for line in text)]
    if windows:
        lines += ["", "last windows", *(f"  {line}" for line in window_lines(windows))]
    if totals:
        table = version_table(totals, names, counts["failures_by_version"])
        lines += ["", "all windows", *table.split("\n")]
    return lines


def _figures(counts: RunCounts) -> str:
    return f"{counts['results']:,} results, {sum(counts['failures'].values()):,} failures"


def _clock(passed: float) -> str:
    seconds = int(passed)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class LiveView:
    """Refreshes metrics files in a thread, and shows them: a screen, or lines where there is no terminal."""

    def __init__(self, runtime: Runtime, source: StreamSource, engine: Engine, names: Sequence[str]) -> None:
        self._runtime, self._source, self._engine, self._criteria = runtime, source, engine, names
        self._started = self._looked = self._lined = monotonic()
        self._before = (PROGRESS.conversations, PROGRESS.turns)
        self._shown = self._told = 0
        self._line = ""

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
            self._tell_alerts()

    def _refresh(self, done: Event) -> None:
        is_terminal = sys.stderr.isatty()
        while not done.wait(_EVERY):
            try:
                self._runtime.write_metrics()
            except OSError as error:
                self._engine.fail(error)
            if is_terminal:
                self._show()
                continue
            self._tell_alerts()
            if monotonic() - self._lined < _LINE_EVERY:
                continue
            # Once a minute the totals and the newest window, if they changed.
            self._lined = monotonic()
            figures = _figures(stream_counts(self._runtime.store.counts))
            line = "; ".join([figures, *window_lines(self._runtime.metrics.last_windows(1))])
            if line != self._line:
                self._line = line
                complain(f"{_clock(monotonic() - self._started)} {line}")

    def _tell_alerts(self) -> None:
        before, self._told = self._told, len(self._runtime.alerts)
        for alert in self._runtime.alerts[before : self._told]:
            complain(f"alert: {alert}")

    def _show(self) -> None:
        now, done = monotonic(), (PROGRESS.conversations, PROGRESS.turns)
        elapsed = max(now - self._looked, 1e-9)
        rates = (done[0] - self._before[0]) / elapsed, (done[1] - self._before[1]) / elapsed
        self._looked, self._before = now, done
        runtime, counts = self._runtime, stream_counts(self._runtime.store.counts)
        with runtime.store.lock:
            states = sorted(runtime.store.sums.totals.items())
            totals = [row for entry in states for row in version_rows(entry, "")]
        load = runtime.in_flight.waiting, PROGRESS.held, self._source.backlog(), JUDGING.asking
        windows, alerts = runtime.metrics.last_windows(_WINDOWS_SHOWN), runtime.alerts[-_ALERTS_SHOWN:]
        width, height = os.get_terminal_size(sys.stderr.fileno())
        lines = first_lines(now - self._started, rates, counts, load)
        lines += tables(alerts, windows, totals, self._criteria, counts, (width or 80) - 1)
        if width and height:
            lines = [clipped(line, width - 1) for line in lines[: height - 1]]
        up = f"\x1b[{self._shown}F" if self._shown else ""
        sys.stderr.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + _CLEAR_BELOW)
        sys.stderr.flush()
        self._shown = len(lines)
