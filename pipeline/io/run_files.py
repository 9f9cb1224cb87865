"""Writes the tables of a run as files, all of them or none."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.io.directory import (
    AGGREGATED,
    READING_LIST,
    SINGLE_FILES,
    clear_partial_files,
    partial_path,
    publish,
    write_partial,
)
from turnwise.pipeline.io.sinks.base import RowWriter, TableSink, document_content, row_writer, table_content
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject


class Sink(TableSink, Protocol):
    """Writes the tables and documents of a run."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document."""

    def finish(self, root: beam.Pipeline) -> None:
        """Adds the steps that run after everything is written."""


class NullSink:
    """Writes nothing, for runs that only count."""

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Discards the rows."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Discards the document."""

    def finish(self, root: beam.Pipeline) -> None:
        """Does nothing."""


class FilesAndService:
    """Writes the files of a run, and its tables to a service as well."""

    def __init__(self, files: Sink, service: TableSink) -> None:
        self._files, self._service = files, service

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Adds the steps that write lists of rows to both."""
        self._files.write_table(rows, table, part)
        self._service.write_table(rows, table, part)

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document; it is a file only."""
        self._files.write_document(document, name)

    def finish(self, root: beam.Pipeline) -> None:
        """Adds the steps that run after everything is written."""
        self._files.finish(root)


class _Written(NamedTuple):
    """Output of one bundle for a table: a file, or, for a small table, the rows."""

    table: str
    shard: str | None
    rows: Sequence[JsonObject] = ()


class FileSink:
    """Files in one directory, on any filesystem that Beam supports.

    Large tables are written as shards under names of their own. When every table is complete, all files get
    their final names, so that what stands under a final name is always whole.
    """

    def __init__(self, directory: str, output_format: str) -> None:
        self._directory, self._format = directory, output_format
        self._written: list[PCollection[tuple[str, _Written]]] = []

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Writes `TABLE-*.SUFFIX`; the metrics tables are one file each."""
        if table in SINGLE_FILES:
            written = rows | f"Write_{table}{part}" >> beam.Map(_kept, table)
        else:
            write = _WriteShardFn(self._directory, table, self._format)
            written = rows | f"Write_{table}{part}" >> beam.ParDo(write)
        self._written.append(written)

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Writes `NAME.json`, indented."""
        self._written.append(document | f"Write_{name}" >> beam.Map(_kept_document, name))

    def finish(self, root: beam.Pipeline) -> None:
        """Gives all files their final names."""
        start = root | "Write_Start" >> beam.Create([("", _Written("", None))])
        gathered = (
            (start, *self._written) | "Write_All" >> beam.Flatten() | "Write_Gather" >> beam.GroupByKey()
        )
        gathered | "Write_Publish" >> beam.ParDo(_PublishFn(self._directory, self._format))


def _kept(rows: Sequence[JsonObject], table: str) -> tuple[str, _Written]:
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
    """Gives the files of a run their final names."""

    def __init__(self, directory: str, output_format: str) -> None:
        self._directory, self._format = directory, output_format

    def process(self, element: tuple[str, Iterable[_Written]]) -> None:
        written = sorted(element[1], key=lambda entry: entry[:2])
        files: list[tuple[str, str]] = []
        for table in TABLES:
            parts = [part for part in written if part.table == table]
            files += self._single_file(table, parts) if table in SINGLE_FILES else self._shards(table, parts)
        for name in (AGGREGATED, READING_LIST):
            document = next((part.rows[0] for part in written if part.table == name), {})
            content = document_content(document)
            files.append((write_partial(self._directory, name, content), f"{name}.json"))
        publish(self._directory, files)
        clear_partial_files(self._directory)

    def _single_file(self, table: str, parts: Sequence[_Written]) -> list[tuple[str, str]]:
        name = f"{table}.{self._format}"
        content = table_content([row for part in parts for row in part.rows], table, self._format)
        return [(write_partial(self._directory, name, content), name)]

    def _shards(self, table: str, parts: Sequence[_Written]) -> list[tuple[str, str]]:
        shards = [part.shard for part in parts if part.shard]
        if not shards:
            shards = [write_partial(self._directory, table, table_content([], table, self._format))]
        total = len(shards)
        return [(shard, f"{table}-{i:05}-of-{total:05}.{self._format}") for i, shard in enumerate(shards)]
