"""Writes the tables of a stream on other runners as small immutable files on any filesystem."""

import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import apache_beam as beam
from apache_beam.coders import BytesCoder, FloatCoder
from apache_beam.pvalue import PCollection
from apache_beam.transforms.combiners import CountCombineFn
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)

from turnwise.pipeline.io.directory import SINGLE_FILES, publish, write_partial
from turnwise.pipeline.settings.run import SinkPlace
from turnwise.pipeline.streaming.beam.shared_changes import WriteChanges
from turnwise.pipeline.streaming.changes import outcome_change, window_change
from turnwise.schemas.jsonio import dump_json
from turnwise.transforms.metrics.rows import slice_rows, turn_rows, version_rows
from turnwise.transforms.streaming.outcome import RecordOutcome
from turnwise.transforms.streaming.windowed import WindowMetrics

_SHARDS = 4
_ROWS_AT_ONCE = 5_000
_SECONDS_AT_MOST = 10
_Line = tuple[str, bytes]


class SharedFiles:
    """Files in one directory, and a service that takes the rows as well, if there is one.

    A file is named by a digest of its content, so that a repeated step writes the same file. A row that
    changed is in several files; the highest revision counts. The revision is a column of the row or, for
    results and lost conversations, part of the file name. Within one revision, a result replaces a failure.
    """

    alerts_path: Path | None = None

    def __init__(self, directory: str, run_id: str, place: SinkPlace | None = None) -> None:
        self._directory, self._run_id, self._place = directory, run_id, place

    def write_outcomes(self, outcomes: "PCollection[RecordOutcome]") -> None:
        """Adds the steps that write `scores-*`, `results-*`, `conversations-*` and `failures-*`."""
        self._write(outcomes | "OutcomeLines" >> beam.ParDo(_OutcomeLinesFn()), "Outcomes")
        if self._place:
            changes = outcomes | "OutcomeChanges" >> beam.Map(outcome_change, self._run_id)
            _ = changes | "StoreOutcomes" >> WriteChanges(self._place)

    def write_metrics(self, metrics: "PCollection[WindowMetrics]") -> None:
        """Adds the steps that write `metrics_by_app_version-*`, `metrics_by_turn-*`, `metrics_by_slice-*`."""
        self._write(metrics | "MetricLines" >> beam.ParDo(_MetricLinesFn(self._run_id)), "Metrics")
        if self._place:
            changes = metrics | "MetricChanges" >> beam.Map(window_change, self._run_id)
            _ = changes | "StoreMetrics" >> WriteChanges(self._place)

    def _write(self, lines: "PCollection[_Line]", label: str) -> None:
        batches = lines | f"Batch{label}" >> beam.ParDo(_BatchFn())
        _ = batches | f"Write{label}" >> beam.ParDo(_WriteFn(self._directory))


class _OutcomeLinesFn(beam.DoFn):
    """Yields the rows of an outcome as lines, keyed by table and shard."""

    def process(self, outcome: RecordOutcome) -> Iterator[_Line]:
        shard = crc32((outcome.conversation_id or "").encode("utf-8", "replace")) % _SHARDS
        for score in outcome.scores:
            yield f"scores/{shard}", dump_json(score)
        for row in outcome.results:
            yield f"results-r{_revision(outcome):05}/{shard}", dump_json(row["result"])
        for conversation in outcome.conversations:
            yield f"conversations/{shard}", dump_json(conversation)
        table = (
            "failures" if outcome.results or outcome.joined is None else f"failures-r{_revision(outcome):05}"
        )
        for failure in outcome.failures:
            yield f"{table}/{shard}", dump_json(failure)


def _revision(outcome: RecordOutcome) -> int:
    return outcome.contribution.revision if outcome.contribution else 0


class _MetricLinesFn(beam.DoFn):
    """Yields the rows of a window as lines, keyed by table."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id

    def process(self, metrics: WindowMetrics) -> Iterator[_Line]:
        entry, window = (metrics.app_version, metrics.state), metrics.row_window
        by_version, by_turn, by_slice = SINGLE_FILES
        for row in version_rows(entry, self._run_id, window):
            yield by_version, dump_json(row)
        for turn_row in turn_rows(entry, self._run_id, window):
            yield by_turn, dump_json(turn_row)
        for slice_row in slice_rows(entry, self._run_id, window):
            yield by_slice, dump_json(slice_row)


class _BatchFn(beam.DoFn):
    """Gathers lines of a key until they are enough, or the first has waited long.

    Beam's GroupIntoBatches sets its timer for the first line alone. Here each bundle sets it again, so that
    lines that come while the timer fires, which Prism allows, do not wait for ever.
    """

    LINES = BagStateSpec("lines", BytesCoder())
    COUNT = CombiningValueStateSpec("count", combine_fn=CountCombineFn())
    FIRST = ReadModifyWriteStateSpec("first", FloatCoder())
    TIMER = TimerSpec("full", TimeDomain.REAL_TIME)

    def start_bundle(self) -> None:
        """Knows no key whose timer this bundle has set."""
        self._timed = set[str]()

    def process(
        self,
        element: _Line,
        lines: Any = beam.DoFn.StateParam(LINES),
        count: Any = beam.DoFn.StateParam(COUNT),
        first: Any = beam.DoFn.StateParam(FIRST),
        timer: Any = beam.DoFn.TimerParam(TIMER),
    ) -> Iterator[tuple[str, list[bytes]]]:
        """Adds a line; yields all of its key when they are enough."""
        key, line = element
        lines.add(line)
        count.add(1)
        if key not in self._timed:
            self._timed.add(key)
            since = first.read() or time.time()
            first.write(since)
            timer.set(since + _SECONDS_AT_MOST)
        if count.read() >= _ROWS_AT_ONCE:
            yield from self._taken(key, lines, count, first)

    @on_timer(TIMER)
    def full(
        self,
        key: Any = beam.DoFn.KeyParam,
        lines: Any = beam.DoFn.StateParam(LINES),
        count: Any = beam.DoFn.StateParam(COUNT),
        first: Any = beam.DoFn.StateParam(FIRST),
    ) -> Iterator[tuple[str, list[bytes]]]:
        """Yields what waits."""
        yield from self._taken(key, lines, count, first)

    def _taken(self, key: str, lines: Any, *states: Any) -> Iterator[tuple[str, list[bytes]]]:
        found = list(lines.read())
        for state in (lines, *states):
            state.clear()
        self._timed.discard(key)
        if found:
            yield key, found


class _WriteFn(beam.DoFn):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def process(self, batch: tuple[str, Iterable[bytes]]) -> None:
        table = batch[0].partition("/")[0]
        content = b"\n".join(batch[1]) + b"\n"
        name = f"{table}-{blake2b(content, digest_size=16).hexdigest()}.jsonl"
        publish(self._directory, [(write_partial(self._directory, name, content), name)])
