"""Writes the tables of a run as files, all of them or none, and in the end its `run.json`."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, Protocol

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import AsSingleton, PCollection
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue
from msgspec import Struct

from turnwise.pipeline.io.listing import join_path
from turnwise.pipeline.io.run_end import (
    STORED,
    Conclude,
    ConcludeFn,
    NameFilesFn,
    PublishFn,
    Told,
    Written,
    kept_rows,
)
from turnwise.pipeline.io.run_writer import AGGREGATED, SINGLE_FILES, folder_name, partial_path
from turnwise.pipeline.io.sinks.base import RowWriter, TableSink, row_writer
from turnwise.pipeline.settings.outputs import DEFAULT_OUTPUT_FORMAT
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.rows import plain_rows
from turnwise.transforms.beam.steps import OF_RUN, InspectedDoFn

TableRows = tuple[str, Sequence[Any]]
"""Name of a table, and some of its rows."""
_TOLD = beam.typehints.KV[str, Any]
"""One type, because some runners flatten only collections of one coder."""
_SMALL = frozenset((*SINGLE_FILES, AGGREGATED))


class RowsSink(Protocol):
    """Writes tables."""

    def write_tables(self, rows: "PCollection[TableRows]", tables: Sequence[str], part: str = "") -> None:
        """Adds the steps that write lists of rows of some tables; `part` distinguishes several writers."""


class Sink(RowsSink, Protocol):
    """Writes the tables of a run, and ends it."""

    def finish(self, root: beam.Pipeline, told: "Sequence[PCollection[tuple[str, Told]]]") -> None:
        """Adds the steps that run after everything is written, given what the other steps told."""


class NullSink:
    """Writes nothing, for runs that only count."""

    def write_tables(self, rows: "PCollection[TableRows]", tables: Sequence[str], part: str = "") -> None:
        """Discards the rows."""

    def finish(self, root: beam.Pipeline, told: "Sequence[PCollection[tuple[str, Told]]]") -> None:
        """Does nothing."""


class ShardSink:
    """Writes tables as shards into a folder of a directory; a service may take them as well.

    Attributes:
        folder_name: Name of the folder; None: it is chosen when the pipeline runs.
        written: What was written, and what the service returned if the end of the run needs it.
    """

    def __init__(
        self,
        directory: str,
        output_format: str,
        service: TableSink | None = None,
        *,
        folder: str | None = None,
        number: int | None = None,
        keeps_stored: bool = False,
    ) -> None:
        """Creates the sink.

        Args:
            directory: Output directory.
            output_format: Format of the tables.
            service: Takes the tables as well.
            folder: Name of the folder in it; None: it is chosen when the pipeline runs, so that no two
                executions write into the same one.
            number: Shards of a lower number come first, in all tables alike.
            keeps_stored: Whether the end of the run needs what the service returns.
        """
        self._directory, self._format, self._service = directory, output_format, service
        self._keep_stored = _kept_stored if keeps_stored else _nothing
        self._chosen: PCollection[Any] | None = None
        self._write = _WriteRowsFn(directory, output_format, number)
        self.folder_name = folder
        self.written: list[PCollection[Any]] = []

    def write_tables(self, rows: "PCollection[TableRows]", tables: Sequence[str], part: str = "") -> None:
        """Writes `TABLE-*.SUFFIX`; keeps small tables, which are one file each, for the end of the run."""
        if self._service:
            self._store(rows, self._service, tables, part)
        folder = AsSingleton(self.begun(rows.pipeline))
        self.written.append(rows | f"Write_{tables[0]}{part}" >> beam.ParDo(self._write, folder))

    def _store(
        self, rows: "PCollection[TableRows]", service: TableSink, tables: Sequence[str], part: str
    ) -> None:
        for table in tables:
            own = rows | f"Rows_{table}{part}" >> beam.FlatMap(_of_table, table)
            stored = service.write_table(own, table, part)
            if stored is not None:
                self.written.append(stored | f"Stored_{table}{part}" >> beam.FlatMap(self._keep_stored))

    def begun(self, root: beam.Pipeline) -> "PCollection[Any]":
        """Returns the folder of the run, as the first that is told of it."""
        if self._chosen is None:
            choose = partial(_choose_folder, stated=self.folder_name)
            self._chosen = root | "Write_Start" >> beam.Impulse() | "Write_Folder" >> beam.Map(choose)
        return self._chosen


class RunSink(ShardSink):
    """Files in a folder of a directory, on any filesystem of Beam, all of them or none.

    Tables are written as shards under names of their own. When every table is complete, all files get their
    final names. Then `run.json`, which names the folder and its files, is replaced, whatever process runs the
    step.
    """

    def __init__(
        self,
        directory: str,
        output_format: str,
        conclude: Conclude,
        service: TableSink | None = None,
        *,
        discard: Callable[[], None] | None = None,
        folder: str | None = None,
    ) -> None:
        super().__init__(directory, output_format, service, folder=folder, keeps_stored=discard is not None)
        self._conclude, self._discard = conclude, discard

    def finish(self, root: beam.Pipeline, told: "Sequence[PCollection[tuple[str, Told]]]") -> None:
        """Gives all files their final names, and writes `run.json`.

        Elsewhere than on a local disk, the workers share the renaming.
        """
        begun = self.begun(root)
        parts, folder = [*self.written, *told, begun], AsSingleton(begun)  # there may be nothing else
        if not is_local(self._directory):
            named = (
                gathered(parts, "Write_All", "Write_Gather")
                | "Write_Name" >> beam.ParDo(NameFilesFn(self._format), folder)
                | "Write_Spread" >> beam.GroupByKey()
            )
            publish = beam.ParDo(PublishFn(self._directory)).with_output_types(_TOLD)
            parts.append(named | "Write_Publish" >> publish)
        conclude = ConcludeFn(self._directory, self._format, self._conclude, self._discard)
        over = gathered(parts, "Write_Told", "Write_End")
        _ = over | "Write_Run" >> beam.ParDo(conclude, folder).with_output_types(Any)


def gathered(parts: "Sequence[PCollection[Any]]", flatten: str, group: str) -> "PCollection[Any]":
    """Adds two steps, so named, that gather what was told of a run under its key."""
    for part in parts:
        part.element_type = _TOLD
    return parts | flatten >> beam.Flatten() | group >> beam.GroupByKey()


def _choose_folder(_: bytes, stated: str | None) -> tuple[str, str]:
    return OF_RUN, stated or folder_name()


def _of_table(rows: TableRows, table: str) -> Iterator[Sequence[Any]]:
    if rows[0] == table:
        yield plain_rows(rows[1])


def _nothing(_: object) -> Iterator[tuple[str, Written]]:
    return iter(())


def _kept_stored(element: Any) -> Iterator[tuple[str, Written]]:
    yield OF_RUN, Written(STORED, None, 1, [element])


class _WriteRowsFn(InspectedDoFn):
    """Writes the rows of a bundle into a separate file of each table; rows of small tables are kept."""

    def __init__(self, directory: str, output_format: str, number: int | None) -> None:
        self._directory, self._format, self._number = directory, output_format, number

    def start_bundle(self) -> None:
        self._files: dict[str, _Shard] = {}

    def process(self, element: TableRows, folder: tuple[str, str]) -> list[tuple[str, Written]]:
        table, rows = element
        if table in _SMALL:
            return [(OF_RUN, kept_rows(table, rows))]
        if table not in self._files:
            path = partial_path(join_path(self._directory, folder[1]), table, self._number)
            file = FileSystems.create(path)
            self._files[table] = _Shard(path, file, row_writer(file, table, self._format))
        self._files[table].write(rows if self._format == DEFAULT_OUTPUT_FORMAT else plain_rows(rows))
        return []

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for table, shard in self._files.items():
            shard.writer.finish()
            shard.file.close()
            yield GlobalWindows.windowed_value((OF_RUN, Written(table, shard.path, shard.row_count)))


class _Shard(Struct):
    """An open file of a table."""

    path: str
    file: BinaryIO
    writer: RowWriter
    row_count: int = 0

    def write(self, rows: Sequence[Any]) -> None:
        self.writer.write(rows)
        self.row_count += len(rows)
