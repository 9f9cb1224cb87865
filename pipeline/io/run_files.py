"""Writes the tables of a run as files, all of them or none, and in the end its `run.json`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.io.directory import (
    AGGREGATED,
    SINGLE_FILES,
    clear_directory,
    partial_path,
    publish,
    remove_run_file,
    write_partial,
    write_run_file,
)
from turnwise.pipeline.io.sinks.base import RowWriter, TableSink, document_content, row_writer, table_content
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.rows import TABLES, MetricsByAppVersionRow
from turnwise.schemas.values import JsonObject


class Finished(NamedTuple):
    """What is known of a run when its tables are written.

    Attributes:
        counts: Numbers by name.
        to_read: The conversations to read first, in order.
        versions: Rows of `metrics_by_app_version`.
    """

    counts: dict[str, int]
    to_read: Sequence[ConversationRow]
    versions: Sequence[MetricsByAppVersionRow]


Conclude = Callable[[Finished], JsonObject]
"""Returns the content of `run.json`; the tables of the run can be read."""


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


BY_VERSION = SINGLE_FILES[0]
_COUNTS, _TO_READ = "counts", "to_read"


class _Written(NamedTuple):
    """Output of one bundle for a table: a file, or, for a small table, the rows."""

    table: str
    shard: str | None
    rows: Sequence[Any] = ()


class RunSink:
    """Files in one directory, on any filesystem that Beam supports; a service may take the tables as well.

    Large tables are written as shards under names of their own. When every table is complete, all files get
    their final names, so that what stands under a final name is always whole. Then `run.json` is written,
    whatever process runs the step.
    """

    def __init__(
        self, directory: str, output_format: str, conclude: Conclude, service: TableSink | None = None
    ) -> None:
        self._directory, self._format, self._conclude = directory, output_format, conclude
        self._service = service
        self._written: list[PCollection[tuple[str, _Written]]] = []

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Writes `TABLE-*.SUFFIX`; the metrics tables are one file each."""
        stored = self._service.write_table(rows, table, part) if self._service else None
        if stored is not None:
            self._written.append(stored | f"Stored_{table}{part}" >> beam.FlatMap(_nothing))
        if table in SINGLE_FILES:
            written = rows | f"Write_{table}{part}" >> beam.Map(_kept, table)
        else:
            write = _WriteShardFn(self._directory, table, self._format)
            written = rows | f"Write_{table}{part}" >> beam.ParDo(write)
        self._written.append(written)

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
        self._written += [
            counts | "Write_Counts" >> beam.Map(_kept_document, _COUNTS),
            to_read | "Write_ToRead" >> beam.Map(_kept, _TO_READ),
        ]
        gathered = tuple(self._written) | "Write_All" >> beam.Flatten() | "Write_Gather" >> beam.GroupByKey()
        publish = _PublishFn(self._directory, self._format, self._conclude)
        gathered | "Write_Publish" >> beam.ParDo(publish)


def _nothing(_: object) -> Iterator[tuple[str, _Written]]:
    return iter(())


def _kept(rows: Sequence[Any], table: str) -> tuple[str, _Written]:
    return "", _Written(table, None, rows)


def _kept_document(document: JsonObject, name: str) -> tuple[str, _Written]:
    return "", _Written(name, None, [document])


class _WriteShardFn(beam.DoFn):
    """Writes the rows of a bundle into a separate file."""

    def __init__(self, directory: str, table: str, output_format: str) -> None:
        self._directory, self._table, self._format = directory, table, output_format

    def start_bundle(self) -> None:
        self._path = ""
        self._file: BinaryIO | None = None
        self._writer: RowWriter | None = None

    def process(self, rows: Sequence[JsonObject]) -> None:
        if self._writer is None:
            self._path = partial_path(self._directory, self._table)
            self._file = FileSystems.create(self._path)
            self._writer = row_writer(self._file, self._table, self._format)
        self._writer.write(rows)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._writer is not None and self._file is not None:
            self._writer.finish()
            self._file.close()
            yield GlobalWindows.windowed_value(("", _Written(self._table, self._path)))


class _PublishFn(beam.DoFn):
    """Gives the files of a run their final names, and writes `run.json`."""

    def __init__(self, directory: str, output_format: str, conclude: Conclude) -> None:
        self._directory, self._format, self._conclude = directory, output_format, conclude

    def process(self, element: tuple[str, Iterable[_Written]]) -> None:
        written = sorted(element[1], key=lambda entry: entry[:2])
        files: list[tuple[str, str]] = []
        for table in TABLES:
            parts = [part for part in written if part.table == table]
            files += self._single_file(table, parts) if table in SINGLE_FILES else self._shards(table, parts)
        aggregated = document_content(next(iter(_rows(written, AGGREGATED)), {}))
        files.append((write_partial(self._directory, AGGREGATED, aggregated), f"{AGGREGATED}.json"))
        remove_run_file(self._directory)
        publish(self._directory, files)
        clear_directory(self._directory, {name for _, name in files})
        counts: dict[str, int] = next(iter(_rows(written, _COUNTS)), {})
        finished = Finished(counts, _rows(written, _TO_READ), _rows(written, BY_VERSION))
        write_run_file(self._directory, self._conclude(finished))

    def _single_file(self, table: str, parts: Sequence[_Written]) -> list[tuple[str, str]]:
        name = f"{table}.{self._format}"
        content = table_content(_rows(parts, table), table, self._format)
        return [(write_partial(self._directory, name, content), name)]

    def _shards(self, table: str, parts: Sequence[_Written]) -> list[tuple[str, str]]:
        shards = [part.shard for part in parts if part.shard]
        if not shards:
            shards = [write_partial(self._directory, table, table_content([], table, self._format))]
        total = len(shards)
        return [(shard, f"{table}-{i:05}-of-{total:05}.{self._format}") for i, shard in enumerate(shards)]


def _rows(written: Sequence[_Written], table: str) -> list[Any]:
    return [row for part in written if part.table == table for row in part.rows]
