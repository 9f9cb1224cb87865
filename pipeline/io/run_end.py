"""The last steps of a run: its files get their names, then `run.json` names them."""

import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from turnwise.pipeline.io.listing import join_path, list_files
from turnwise.pipeline.io.run_writer import (
    AGGREGATED,
    SINGLE_FILES,
    clear_replaced,
    current_folder,
    publish,
    write_partial,
    write_run_file,
)
from turnwise.pipeline.io.sinks.base import document_content, table_content
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import TABLES, ConversationRow, MetricsByAppVersionRow
from turnwise.transforms.beam.steps import OF_RUN, InspectedDoFn
from turnwise.transforms.review.problems import ReadingList

BY_VERSION = SINGLE_FILES[0]
STORED = "stored"
_PUBLISHED = "published"
_FASTEST = 1


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
        packed: Rows that this program encoded and compressed, in place of `rows`.
    """

    table: str
    shard: str | None
    row_count: int
    rows: Sequence[Any] = ()
    packed: bytes = b""

    def all_rows(self) -> Sequence[Any]:
        """Returns the rows."""
        rows: Sequence[Any] = pickle.loads(zlib.decompress(self.packed)) if self.packed else self.rows
        return rows


def kept_rows(table: str, rows: Sequence[Any]) -> Written:
    """Returns rows of a small table that are kept; there may be thousands of app versions and slices."""
    packed = zlib.compress(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL), _FASTEST)
    return Written(table, None, len(rows), packed=packed)


class _NamedFile(NamedTuple):
    """A file of a run, with its final name; `content` if it is not written yet."""

    table: str
    folder: str
    name: str
    row_count: int
    shard: str | None
    content: bytes = b""


Told = dict[str, int] | list[ConversationRow] | Written | str
"""What a step tells of its part of a run: counts, conversations to read first, what was written, a folder."""


class _AllTold:
    """Everything that was told of a run."""

    def __init__(self, told: Iterable[Told]) -> None:
        self.counts, self.written = Counter[str](), list[Written]()
        to_read = ReadingList()
        for one in told:
            if isinstance(one, dict):
                self.counts.update(one)
            elif isinstance(one, Written):
                self.written.append(one)
            elif isinstance(one, list):
                to_read.add(one)
        self.to_read = to_read.rows()

    def rows(self, table: str) -> list[Any]:
        """Returns the rows of a small table."""
        return [row for part in self._parts(table) for row in part.all_rows()]

    def _parts(self, table: str) -> Iterator[Written]:
        return (part for part in self.written if part.table == table)

    def files(self, folder: str, output_format: str) -> Iterator[_NamedFile]:
        """Yields all files with their final names."""
        for table in TABLES:
            yield from self._files_of(table, folder, output_format)
        content = document_content(next(iter(self.rows(AGGREGATED)), {}))
        yield _NamedFile(AGGREGATED, folder, f"{AGGREGATED}.json", 1, None, content)

    def _files_of(self, table: str, folder: str, suffix: str) -> list[_NamedFile]:
        parts = sorted(part[:3] for part in self._parts(table))
        if table in SINGLE_FILES or not parts:
            name = table if table in SINGLE_FILES else f"{table}-00000-of-00001"
            content = table_content((part.all_rows() for part in self._parts(table)), table, suffix)
            row_count = sum(row_count for _, _, row_count in parts)
            return [_NamedFile(table, folder, f"{name}.{suffix}", row_count, None, content)]
        return [
            _NamedFile(table, folder, f"{table}-{i:05}-of-{len(parts):05}.{suffix}", row_count, shard)
            for i, (_, shard, row_count) in enumerate(parts)
        ]


class NameFilesFn(InspectedDoFn):
    """Yields all files of a run with their final names, each under a key of its own."""

    def __init__(self, output_format: str) -> None:
        self._format = output_format

    def process(
        self, element: tuple[str, Iterable[Told]], folder: tuple[str, str]
    ) -> Iterator[tuple[str, _NamedFile]]:
        """Yields name -> file, of everything that was written or is kept."""
        for file in _AllTold(element[1]).files(folder[1], self._format):
            yield file.name, file


class PublishFn(InspectedDoFn):
    """Gives files their final names."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def process(self, element: tuple[str, Iterable[_NamedFile]]) -> Iterator[Any]:
        """Renames a file, or writes it; yields it under the key of the run."""
        file = _published(self._directory, next(iter(element[1])))
        yield OF_RUN, Written(_PUBLISHED, None, 1, [file])


def _published(directory: str, file: _NamedFile) -> _NamedFile:
    """Renames a file, or writes it; returns it without its content."""
    folder = join_path(directory, file.folder)
    publish(folder, [(file.shard or write_partial(folder, file.table, file.content), file.name)])
    return file._replace(content=b"")


class ConcludeFn(InspectedDoFn):
    """Replaces `run.json`, and removes what is not current any more; names the files, where no step did."""

    def __init__(
        self,
        directory: str,
        output_format: str,
        conclude: Conclude,
        discard: Callable[[], None] | None = None,
    ) -> None:
        self._directory, self._format = directory, output_format
        self._conclude, self._discard = conclude, discard

    def process(self, element: tuple[str, Iterable[Told]], begun: tuple[str, str]) -> None:
        """Writes `run.json` of everything that was published, once, also if a runner repeats it."""
        _, folder = begun
        replaced = current_folder(self._directory)
        if replaced != folder:
            told = _AllTold(element[1])
            files = self._files(told, folder)
            document = self._conclude(self._finished(told, folder, files))
            write_run_file(self._directory, document, folder)
            clear_replaced(self._directory, folder, {file.name for file in files}, replaced)
        if self._discard:
            self._discard()

    def _files(self, told: _AllTold, folder: str) -> list[_NamedFile]:
        published = told.rows(_PUBLISHED)
        if not published:
            published = [_published(self._directory, file) for file in told.files(folder, self._format)]
        return sorted(published)

    def _finished(self, told: _AllTold, folder: str, files: Sequence[_NamedFile]) -> Finished:
        versions, stored = told.rows(BY_VERSION), told.rows(STORED)
        return Finished(dict(told.counts), told.to_read, versions, self._tables(folder, files), stored)

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
