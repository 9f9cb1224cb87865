"""Writes the tables of a run as files, all of them or none, and in the end its `run.json`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Protocol

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import AsSingleton, PCollection
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.io.directory import SINGLE_FILES, folder_name, partial_path
from turnwise.pipeline.io.listing import join_path
from turnwise.pipeline.io.run_end import (
    BY_VERSION,
    COUNTS,
    STORED,
    TO_READ,
    Conclude,
    ConcludeFn,
    NameFilesFn,
    PublishFn,
    Written,
)
from turnwise.pipeline.io.sinks.base import RowWriter, TableSink, row_writer
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.values import JsonObject


class Sink(TableSink, Protocol):
    """Writes the tables and documents of a run."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document."""

    def finish(
        self,
        root: beam.Pipeline,
        counts: "PCollection[dict[str, int]]",
        to_read: "PCollection[list[ConversationRow]]",
    ) -> None:
        """Adds the steps that run after everything is written; both collections have one element."""


class NullSink:
    """Writes nothing, for runs that only count."""

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Discards the rows."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Discards the document."""

    def finish(self, root: beam.Pipeline, counts: "PCollection[Any]", to_read: "PCollection[Any]") -> None:
        """Does nothing."""


class RunSink:
    """Files in a folder of a directory, on any filesystem of Beam; a service may take the tables as well.

    The folder is chosen when the pipeline runs, so that no two executions write into the same one. Tables are
    written as shards under names of their own. When every table is complete, all files get their final names.
    Then `run.json`, which names the folder and its files, is replaced, whatever process runs the step.
    """

    def __init__(
        self,
        directory: str,
        output_format: str,
        conclude: Conclude,
        service: TableSink | None = None,
        *,
        discard: Callable[[], None] | None = None,
    ) -> None:
        self._directory, self._format, self._conclude = directory, output_format, conclude
        self._service, self._keep_stored = service, _kept_stored if discard else _nothing
        self._discard = discard
        self._written: list[PCollection[tuple[str, Written]]] = []
        self._known: list[PCollection[tuple[str, Written]]] = []
        self._chosen: PCollection[str] | None = None

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Writes `TABLE-*.SUFFIX`; the metrics tables are one file each."""
        stored = self._service.write_table(rows, table, part) if self._service else None
        if stored is not None:
            self._known.append(stored | f"Stored_{table}{part}" >> beam.FlatMap(self._keep_stored))
        if table in SINGLE_FILES:
            written = rows | f"Write_{table}{part}" >> beam.Map(_kept, table)
        else:
            write = _WriteShardFn(self._directory, table, self._format)
            written = rows | f"Write_{table}{part}" >> beam.ParDo(write, self._folder(rows.pipeline))
        self._written.append(written)
        if table == BY_VERSION:
            self._known.append(written)

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Writes `NAME.json`, indented."""
        self._written.append(document | f"Write_{name}" >> beam.Map(_kept_document, name))

    def finish(
        self,
        root: beam.Pipeline,
        counts: "PCollection[dict[str, int]]",
        to_read: "PCollection[list[ConversationRow]]",
    ) -> None:
        """Gives all files their final names, and writes `run.json`."""
        counted = counts | "Write_Counts" >> beam.Map(_kept_document, COUNTS)
        self._written.append(counted)  # there may be nothing else
        gathered = self._written | "Write_All" >> beam.Flatten() | "Write_Gather" >> beam.GroupByKey()
        named = gathered | "Write_Name" >> beam.ParDo(NameFilesFn(self._format), self._folder(root))
        spread = named | "Write_Spread" >> beam.GroupByKey()
        known = [
            *self._known,
            counted,
            to_read | "Write_ToRead" >> beam.Map(_kept, TO_READ),
            spread | "Write_Publish" >> beam.ParDo(PublishFn(self._directory)),
        ]
        over = known | "Write_Known" >> beam.Flatten() | "Write_End" >> beam.GroupByKey()
        _ = over | "Write_Run" >> beam.ParDo(ConcludeFn(self._directory, self._conclude, self._discard))

    def _folder(self, root: beam.Pipeline) -> AsSingleton:
        if self._chosen is None:
            self._chosen = root | "Write_Start" >> beam.Impulse() | "Write_Folder" >> beam.Map(_choose_folder)
        return AsSingleton(self._chosen)


def _choose_folder(_: bytes) -> str:
    return folder_name()


def _nothing(_: object) -> Iterator[tuple[str, Written]]:
    return iter(())


def _kept_stored(element: Any) -> Iterator[tuple[str, Written]]:
    yield _kept_document(element, STORED)


def _kept(rows: Sequence[Any], table: str) -> tuple[str, Written]:
    return "", Written(table, None, len(rows), rows)


def _kept_document(document: Any, name: str) -> tuple[str, Written]:
    return "", Written(name, None, 1, [document])


class _WriteShardFn(beam.DoFn):
    """Writes the rows of a bundle into a separate file."""

    def __init__(self, directory: str, table: str, output_format: str) -> None:
        self._directory, self._table, self._format = directory, table, output_format

    def start_bundle(self) -> None:
        self._path, self._rows = "", 0
        self._file: BinaryIO | None = None
        self._writer: RowWriter | None = None

    def process(self, rows: Sequence[JsonObject], folder: str) -> None:
        if self._writer is None:
            self._path = partial_path(join_path(self._directory, folder), self._table)
            self._file = FileSystems.create(self._path)
            self._writer = row_writer(self._file, self._table, self._format)
        self._writer.write(rows)
        self._rows += len(rows)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._writer is not None and self._file is not None:
            self._writer.finish()
            self._file.close()
            yield GlobalWindows.windowed_value(("", Written(self._table, self._path, self._rows)))
