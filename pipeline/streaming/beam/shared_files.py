"""Writes the tables of a stream on other runners as small immutable files on any filesystem."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.run_writer import SINGLE_FILES, publish, write_partial
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.streaming.beam.shared_changes import WriteChanges
from turnwise.pipeline.streaming.changes import outcome_change, window_change
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import score_lines
from turnwise.transforms.beam.windows import RecordOutcome, WindowMetrics
from turnwise.transforms.metrics.rows import slice_rows, turn_rows, version_rows

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

    def __init__(
        self, directory: str, run_id: str, place: SinkPlace | None = None, in_bundles: bool = False
    ) -> None:
        """Keeps where rows go.

        Args:
            directory: Output directory.
            run_id: Id of the run.
            place: The service.
            in_bundles: Write at the end of each bundle, into more and smaller files. Prism needs it:
                under load, rows that waited there for a timer were never written.
        """
        self._directory, self._run_id, self._place = directory, run_id, place
        self._in_bundles = in_bundles

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
        if self._in_bundles:
            _ = lines | f"Write{label}" >> beam.ParDo(_WriteBundleFn(self._directory))
            return
        batches = lines | f"Batch{label}" >> beam.GroupIntoBatches(_ROWS_AT_ONCE, _SECONDS_AT_MOST)
        _ = batches | f"Write{label}" >> beam.ParDo(_WriteFn(self._directory))


class _OutcomeLinesFn(beam.DoFn):
    """Yields the rows of an outcome as lines, keyed by table and shard."""

    def process(self, outcome: RecordOutcome) -> Iterator[_Line]:
        shard = crc32((outcome.conversation_id or "").encode("utf-8", "replace")) % _SHARDS
        for score in outcome.scores:
            yield f"scores/{shard}", score_lines([score])[:-1]
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


class _WriteFn(beam.DoFn):
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def process(self, batch: tuple[str, Iterable[bytes]]) -> None:
        table = batch[0].partition("/")[0]
        content = b"\n".join(batch[1]) + b"\n"
        name = f"{table}-{blake2b(content, digest_size=16).hexdigest()}.jsonl"
        publish(self._directory, [(write_partial(self._directory, name, content), name)])


class _WriteBundleFn(_WriteFn):
    """Writes what came in a bundle."""

    def start_bundle(self) -> None:
        """Begins without lines."""
        self._lines: dict[str, list[bytes]] = {}

    def process(self, line: _Line) -> None:  # type: ignore[override]
        """Keeps a line."""
        self._lines.setdefault(line[0].partition("/")[0], []).append(line[1])

    def finish_bundle(self) -> None:
        """Writes a file a table."""
        for table, lines in self._lines.items():
            super().process((table, lines))
