"""The last steps of a run: its files get their names, then `run.json` names them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam

from turnwise.pipeline.io.directory import (
    AGGREGATED,
    SINGLE_FILES,
    clear_replaced,
    current_folder,
    publish,
    write_partial,
    write_run_file,
)
from turnwise.pipeline.io.listing import join_path, list_files
from turnwise.pipeline.io.sinks.base import document_content, table_content
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.rows import TABLES, MetricsByAppVersionRow
from turnwise.schemas.values import JsonObject

BY_VERSION = SINGLE_FILES[0]
COUNTS, TO_READ, STORED = "counts", "to_read", "stored"
_PUBLISHED = "published"


class Finished(NamedTuple):
    """What is known of a run when its tables are written.

    Attributes:
        counts: Numbers by name.
        to_read: The conversations to read first, in order.
        versions: Rows of `metrics_by_app_version`.
        tables: `folder` and `files` of `run.json`: where its tables are.
        stored: Elements of the collections that the service returned.
    """

    counts: dict[str, int]
    to_read: Sequence[ConversationRow]
    versions: Sequence[MetricsByAppVersionRow]
    tables: JsonObject
    stored: Sequence[Any] = ()


Conclude = Callable[[Finished], JsonObject]
"""Returns the content of `run.json`; the tables of the run can be read."""


class Written(NamedTuple):
    """Output of one bundle for a table: a file, or, for a small table, the rows.

    Attributes:
        table: Name of the table or document.
        shard: Path of the file; None: there is none.
        row_count: Number of rows.
        rows: The rows, where there is no file.
    """

    table: str
    shard: str | None
    row_count: int
    rows: Sequence[Any] = ()


class _NamedFile(NamedTuple):
    """A file of a run, with its final name; `content` if it is not written yet."""

    table: str
    folder: str
    name: str
    row_count: int
    shard: str | None
    content: bytes = b""


class NameFilesFn(beam.DoFn):
    """Yields all files of a run with their final names, each under a key of its own."""

    def __init__(self, output_format: str) -> None:
        self._format = output_format

    def process(
        self, element: tuple[str, Iterable[Written]], folder: str
    ) -> Iterator[tuple[str, _NamedFile]]:
        """Yields name -> file, of everything that was written or is kept."""
        written = sorted(element[1], key=lambda entry: entry[:2])
        for table in TABLES:
            parts = [part for part in written if part.table == table]
            named = self._single_file if table in SINGLE_FILES else self._shards
            for file in named(folder, table, parts):
                yield file.name, file
        content = document_content(next(iter(_rows(written, AGGREGATED)), {}))
        name = f"{AGGREGATED}.json"
        yield name, _NamedFile(AGGREGATED, folder, name, 1, None, content)

    def _single_file(self, folder: str, table: str, parts: Sequence[Written]) -> list[_NamedFile]:
        rows = _rows(parts, table)
        content = table_content(rows, table, self._format)
        return [_NamedFile(table, folder, f"{table}.{self._format}", len(rows), None, content)]

    def _shards(self, folder: str, table: str, parts: Sequence[Written]) -> list[_NamedFile]:
        names = [f"{table}-{i:05}-of-{len(parts):05}.{self._format}" for i in range(len(parts))]
        if not names:
            empty = table_content([], table, self._format)
            return [_NamedFile(table, folder, f"{table}-00000-of-00001.{self._format}", 0, None, empty)]
        return [
            _NamedFile(table, folder, name, part.row_count, part.shard)
            for name, part in zip(names, parts, strict=True)
        ]


class PublishFn(beam.DoFn):
    """Gives files their final names."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def process(self, element: tuple[str, Iterable[_NamedFile]]) -> Iterator[tuple[str, Written]]:
        """Renames a file, or writes it; yields it under the key of the run."""
        file = next(iter(element[1]))
        folder = join_path(self._directory, file.folder)
        publish(folder, [(file.shard or write_partial(folder, file.table, file.content), file.name)])
        yield "", Written(_PUBLISHED, None, 1, [file._replace(content=b"")])


class ConcludeFn(beam.DoFn):
    """Replaces `run.json`, and removes what is not current any more."""

    def __init__(self, directory: str, conclude: Conclude, discard: Callable[[], None] | None = None) -> None:
        self._directory, self._conclude, self._discard = directory, conclude, discard

    def process(self, element: tuple[str, Iterable[Written]]) -> None:
        """Writes `run.json` of everything that was published, once, also if a runner repeats it."""
        known = list(element[1])
        files: list[_NamedFile] = sorted(_rows(known, _PUBLISHED))
        folder = files[0].folder
        replaced = current_folder(self._directory)
        if replaced != folder:
            document = self._conclude(self._finished(known, folder, files))
            write_run_file(self._directory, document, folder)
            clear_replaced(self._directory, folder, {file.name for file in files}, replaced)
        if self._discard:
            self._discard()

    def _finished(self, known: Sequence[Written], folder: str, files: Sequence[_NamedFile]) -> Finished:
        counts: dict[str, int] = next(iter(_rows(known, COUNTS)), {})
        to_read, versions, stored = (_rows(known, name) for name in (TO_READ, BY_VERSION, STORED))
        return Finished(counts, to_read, versions, self._tables(folder, files), stored)

    def _tables(self, folder: str, files: Sequence[_NamedFile]) -> JsonObject:
        """Returns what `run.json` says of the files; raises OSError if one is not there."""
        place = join_path(self._directory, folder)
        sizes = {file.name: file.size for file in list_files(place)}
        named: dict[str, JsonObject] = {}
        for file in files:
            if file.name not in sizes:
                raise OSError(f"{join_path(place, file.name)}: is gone: another program removed it")
            stated = {"rows": file.row_count, "bytes": sizes[file.name]}
            named.setdefault(file.table, {})[file.name] = stated
        return {"folder": folder, "files": named}


def _rows(written: Iterable[Written], table: str) -> list[Any]:
    return [row for part in written if part.table == table for row in part.rows]
