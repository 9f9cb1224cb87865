"""Rows of a run as Parquet files, staged until it is complete, and a dataset that consists of them."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue
from pyarrow.parquet import write_table

from turnwise.pipeline.io.run_writer import publish
from turnwise.pipeline.io.sinks import StepSink, TableSink, find_service
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas import rows as tables
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local, listed

VERSION = "app_version"
_BYTES_OF_TEXT = 32 * 1024 * 1024
_BYTES_OF_ROW = 500
_NAMED = ("conversation_id", "turn_index", "criterion")
_SHOWN = 3
_LONGEST_STEM = 150


class StagedRows(NamedTuple):
    """Rows of one table, and where there are partitions of one app version.

    Attributes:
        version: The app version; None: unknown, or there are no partitions.
        path: The file; "": none, because no row could be written.
        lost: Rows that could not be written, one line each.
    """

    table: str
    version: str | None
    path: str
    rows: int
    lost: tuple[str, ...]


def staged_columns(table: str, by_version: bool = False) -> tuple[tables.Column, ...]:
    """Returns the columns of the files of a table; those of a partition are in its path alone."""
    of_table = tables.columns(table)
    if by_version:
        return tuple(column for column in of_table if column.name != VERSION)
    return (tables.DATE, *of_table)


class _StageFn(beam.DoFn):
    """Writes rows of a flat table as files of a folder that nobody reads yet."""

    def __init__(self, folder: str, day: str, by_version: bool, table: str) -> None:
        self._folder, self._table, self._by_version = folder, table, by_version
        self._day = date.fromisoformat(day)

    def start_bundle(self) -> None:
        self._waiting: dict[str | None, list[JsonObject]] = {}
        self._size = 0

    def process(self, rows: Sequence[JsonObject]) -> Iterator[StagedRows]:
        texts = tables.json_columns(self._table)
        for row in rows:
            row = tables.with_json_texts(row, texts)
            row["date"] = self._day
            version = row[VERSION] or None if self._by_version else None
            self._waiting.setdefault(version, []).append(row)
            self._size += _BYTES_OF_ROW + sum(len(value) for value in row.values() if type(value) is str)
        if self._size >= _BYTES_OF_TEXT:
            yield from self._write()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield from map(GlobalWindows.windowed_value, self._write())

    def _write(self) -> Iterator[StagedRows]:
        waiting, self._waiting, self._size = self._waiting, {}, 0
        schema = tables.arrow_schema(staged_columns(self._table, self._by_version))
        for version, rows in waiting.items():
            content, unfit = tables.arrow_rows(rows, schema)
            path = ""
            if content.num_rows:
                path = FileSystems.join(self._folder, f"{self._table}.{uuid4().hex}.parquet")
                with _created(path) as file:
                    write_table(content, file, compression="zstd")
            lost = [
                f"{', '.join(f'{name} {row[name]}' for name in _NAMED if row.get(name) is not None)}: {why}"
                for row, why in unfit
            ]
            yield StagedRows(self._table, version, path, content.num_rows, tuple(lost))


def _created(path: str) -> Any:
    """Opens a file to write; a local one only if its folder is there, because a thread may outlive a run."""
    check_folder(path)
    return open(path, "wb") if is_local(path) else FileSystems.create(path)


def lost_rows(sink_place: SinkPlace, staged: Sequence[StagedRows]) -> list[str]:
    """Returns one line a table with rows that could not be written."""
    lines = []
    for table in tables.WAREHOUSE_TABLES:
        lost = [line for part in staged if part.table == table for line in part.lost]
        if lost:
            what = f"{len(lost)} rows of {table} were not written: {listed(lost, _SHOWN, mark='; ')}"
            lines.append(f"--store {sink_place.url}: {what}")
    return lines


def make_folder(folder: str, what: str) -> None:
    """Makes a folder and tries to write into it; raises ConfigError, which begins with `what`: it failed."""
    try:
        if is_local(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
        tried = FileSystems.join(folder, f"tried.{uuid4().hex}")
        with _created(tried) as file:
            file.write(b"")
        FileSystems.delete([tried])
    except Exception as error:  # Beam's file systems raise errors of many libraries.
        raise ConfigError(f"{what}: {' '.join(str(error).split())}") from None


def run_stem(run_id: str) -> str:
    """Returns the id of a run as part of a file's name, without dots and wildcards."""
    stem = quote(run_id, safe="").replace(".", "%2E").replace("~", "%7E")
    return stem if len(stem) <= _LONGEST_STEM else blake2b(run_id.encode(), digest_size=16).hexdigest()


def staging_directory(sink_place: SinkPlace) -> str:
    """Returns where rows are staged: below the folder that the service is, or below `--output`."""
    folder = find_service("--store", sink_place.url).folder
    return folder(sink_place.url) if folder else sink_place.output


def staging_folder(sink_place: SinkPlace) -> str:
    """Returns the folder of an attempt of a run."""
    attempt = re.sub(r"\W", "", sink_place.create_time)
    name = f"_staging.{run_stem(sink_place.run_id)}.{attempt}"
    return FileSystems.join(staging_directory(sink_place), name)


def open_staging(sink_place: SinkPlace) -> TableSink:
    """Returns the sink of a run."""
    is_folder = find_service("--store", sink_place.url).folder is not None
    stage = partial(_StageFn, staging_folder(sink_place), sink_place.date, is_folder)
    return StepSink("Stage", tables.WAREHOUSE_TABLES, stage)


def discard_staged(sink_place: SinkPlace) -> None:
    """Removes the files that a run has not completed; tables of BigQuery with them expire."""
    _remove_folder(staging_folder(sink_place))


def check_folder(path: str) -> None:
    """Raises OSError if the local folder of a staged file was removed, as another attempt does in the end."""
    folder = Path(path).parent
    if is_local(path) and not folder.is_dir():
        raise OSError(f"{folder}: is gone: another run with the same id has ended, whose rows are current")


def _remove_folder(folder: str) -> None:
    if is_local(folder):
        shutil.rmtree(folder, ignore_errors=True)
    elif files := matching(f"{folder}/**"):
        FileSystems.delete(files)


def remove_earlier(sink_place: SinkPlace) -> None:
    """Removes what earlier attempts of a run left, because their process was killed."""
    head, _, current = staging_folder(sink_place).rpartition("/")
    start = current.rpartition(".")[0]
    if is_local(head):
        names = {path.name for path in Path(head).glob(f"{start}.*")}
    else:
        names = {file.split("/")[-2] for file in matching(f"{head}/{start}.*/*")}
    for name in names - {current}:
        _remove_folder(FileSystems.join(head, name))


def matching(pattern: str) -> list[str]:
    """Returns the files that a pattern matches."""
    return [file.path for match in FileSystems.match([pattern]) for file in match.metadata_list]


_SPECIAL = re.compile(r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]')
_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition(column: str, value: str | None) -> str:
    """Returns the name of a partition's folder, escaped as Hive does; null and "" have Hive's default name.

    >>> partition("app_version", "agents/v=1"), partition("app_version", None)
    ('app_version=agents%2Fv%3D1', 'app_version=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{column}={_SPECIAL.sub(lambda char: f'%{ord(char[0]):02X}', value) if value else _NULL}"


# A dataset of Parquet files in hive partitions, in which a run replaces its own files.


def prepare_dataset(sink_place: SinkPlace) -> None:
    """Makes the folder in which rows of a run are staged; raises ConfigError if it cannot be written."""
    make_folder(staging_folder(sink_place), f"--store {sink_place.url}: cannot be written")


def complete_dataset(sink_place: SinkPlace, staged: Sequence[StagedRows]) -> list[str]:
    """Puts the files of a run into their partitions, in place of those of an earlier run with the same id.

    It can be repeated after an error: files that are in their place stay there. Returns what was not written,
    one line each; raises OSError if files could not be written or removed.
    """
    directory = staging_directory(sink_place)
    try:
        for part in staged:
            if part.path:
                check_folder(part.path)
        for table in tables.WAREHOUSE_TABLES:
            of_table = [part for part in staged if part.table == table and part.path]
            _replace(directory, table, sink_place, of_table)
    except OSError as error:
        rows = sum(part.rows for part in staged)
        text = " ".join(str(error).split())
        raise OSError(f"--store {sink_place.url}: not all of {rows} rows were written: {text}") from None
    finally:
        remove_earlier(sink_place)
    return lost_rows(sink_place, staged)


def _replace(directory: str, table: str, sink_place: SinkPlace, staged: Sequence[StagedRows]) -> None:
    names, numbers = dict[str, str](), Counter[str]()
    for part in sorted(staged, key=lambda part: part.path):
        folder = f"{table}/{partition(tables.DATE.name, sink_place.date)}/{partition(VERSION, part.version)}"
        names[part.path] = f"{folder}/{run_stem(sink_place.run_id)}.{numbers[folder]:05}.parquet"
        numbers[folder] += 1
    new = {FileSystems.join(directory, name): path for path, name in names.items()}
    if is_local(directory):
        for file in new:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
    # In all partitions of the table: the day of an earlier run with this id may have been another one.
    of_run = re.compile(re.escape(run_stem(sink_place.run_id)) + r"\.\d{5}\.parquet")
    paths = matching(FileSystems.join(directory, table, "*", "*", f"{run_stem(sink_place.run_id)}.*.parquet"))
    old = {path for path in paths if of_run.fullmatch(path.rpartition("/")[2])}
    arrived = {file for file, path in new.items() if file in old and not FileSystems.exists(path)}
    # One rename replaces a file that is alone in its partition, before and after; of several files a reader
    # would see old and new ones at once.
    counted = Counter(file.rpartition("/")[0] for files in (old, new) for file in files)
    stale = old - arrived - {file for file in old & new.keys() if counted[file.rpartition("/")[0]] == 2}
    if stale:
        FileSystems.delete(sorted(stale))
    publish(directory, list(names.items()))
