"""Finds and reads files. Local files need no Beam; other filesystems use Beam's."""

import os
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from turnwise.pipeline.io.containers import check_container
from turnwise.pipeline.io.file_kinds import KIND_BYTES, check_text
from turnwise.pipeline.io.listing import buffered
from turnwise.pipeline.io.records import (
    GZIP_MAGIC,
    OTHER_SUFFIXES,
    SUFFIXES,
    contained_records,
    reading_error,
    split_records,
    unzipped,
)
from turnwise.pipeline.io.walking import Unreadable, files_at, look_at, name_problem, shown_path
from turnwise.pipeline.settings.extras import check_google
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.store.urls import StoreError, shown_place
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_local, is_sqlite_url, is_store_url
from turnwise.schemas.score import Failure, IncompleteReadError, Stage, record_failure

if TYPE_CHECKING:
    from apache_beam.io.filesystem import FileMetadata

_BUFFER = 1 << 18
"""Bytes that are read at once; long lines are read several times faster than with Python's own 8 KiB."""
UNREAD_FILES = "unread_files"
"""Counter of files that an option names, of which not one record could be read."""
READ_PART, UNREAD_PART = "read part of ", "unread part of "
"""Starts of the names of counters, by file: parts of a named file that gave records, or only failures."""
WORKER = "worker "
"""Start of the names of the counters of the records that each worker read."""


def file_patterns(option: str, paths: Sequence[str]) -> list[str]:
    """Returns the paths and globs that an option names. A local directory means all files below it.

    Raises:
        ConfigError: A path is empty or does not exist, or its file cannot be read or is binary.
    """
    patterns: list[str] = []
    for path in paths:
        try:
            patterns += _patterns_of(path)
        except (ConfigError, StoreError) as error:
            raise ConfigError(f"{option}: {error}") from None
        except ValueError as error:
            raise ConfigError(f"{option} {shown_place(path)}: {error}") from None
    return patterns


def _patterns_of(path: str) -> list[str]:
    if is_bigquery(path):
        from turnwise.pipeline.io.bigquery.query import prepare_query

        prepare_query(path)
        return [path]
    if is_sqlite_url(path):
        path = path.partition(":///")[2]
    elif is_store_url(path):
        from turnwise.pipeline.io.databases import check_database

        check_database(path)
        return [path]
    if not is_local(path):
        return [f"{path}**{suffix}" for suffix in SUFFIXES] if path.endswith("/") else [path]
    if not path.strip():
        raise ValueError("an empty path")
    problem = name_problem(path)
    if problem:
        raise ValueError(problem)
    try:
        check_path(path)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    return [path]


def check_path(path: str) -> None:
    """Raises ValueError or OSError if a local path cannot be read."""
    if os.path.isdir(path):
        os.scandir(path).close()
        if next(files_at(path), None) is None:
            raise ValueError(f"no file in it ends in {', '.join(SUFFIXES)}")
    elif os.path.lexists(path):
        check_file(path)
    elif next(files_at(path), None) is None:
        raise ValueError("no such file")


def check_file(path: str) -> None:
    """Raises ValueError or OSError if a local file cannot be read or is binary."""
    for seen in look_at(path):
        if isinstance(seen, Unreadable):
            raise seen.error
    if Path(path).suffix.lower() in OTHER_SUFFIXES:
        raise ValueError(f"is none of {', '.join(SUFFIXES)}")
    with open(path, "rb") as file:
        head = file.read(KIND_BYTES)
    is_other = path.endswith(".avro") or head.startswith(GZIP_MAGIC)
    if not is_other and not check_container(path, head):
        check_text(head)


SHORTENED = "the file became shorter while it was read"


class SizedPath(NamedTuple):
    """A file, or the URL of a database, and its size in bytes; 0: unknown."""

    path: str
    size: int


def matched_files(patterns: list[str]) -> list[str | Failure]:
    """Returns what `listed_files` returns, without sizes."""
    return [one if isinstance(one, Failure) else one.path for one in listed_files(patterns)]


def listed_files(patterns: list[str]) -> list[SizedPath | Failure]:
    """Returns the files that paths and globs name, each once, by name; then failures of unreadable paths."""
    sizes = dict.fromkeys((one for one in patterns if is_store_url(one) or is_bigquery(one)), 0)
    remote = remote_files([one for one in patterns if not is_local(one) and one not in sizes])
    sizes.update({file.path: file.size_in_bytes or 0 for file in remote})
    local = {seen.path: seen for path in patterns if is_local(path) for seen in files_at(path)}
    failures: dict[str, Failure] = {}
    inodes = set[tuple[int, int]]()
    for path, seen in sorted(local.items()):
        if isinstance(seen, Unreadable):
            error = IncompleteReadError(seen.error)
            failures[path] = record_failure("read", error, Record(shown_path(path), 0, b""))
        elif (identity := (seen.stat.st_dev, seen.stat.st_ino)) not in inodes:
            inodes.add(identity)
            sizes[path] = seen.stat.st_size
    return [*(SizedPath(*one) for one in sorted(sizes.items())), *failures.values()]


def remote_files(patterns: Sequence[str]) -> Iterator["FileMetadata"]:
    """Yields the files on other filesystems that globs match."""
    if patterns:
        from apache_beam.io.filesystems import FileSystems

        for pattern in patterns:
            check_google(pattern, pattern)
        for found in FileSystems.match(list(patterns)):
            yield from found.metadata_list


def read_records(path: str, limit: int, size: int = 0) -> Iterator[Record | Failure]:
    """Yields the records of one file, see `split_records`, or of the database or rows that a URL names.

    Args:
        path: The file, or a URL.
        limit: A record of more bytes is a failure.
        size: Bytes of the file when it was listed; 0: unknown.

    Raises:
        IncompleteReadError: It has become shorter since it was listed or opened.
    """
    if is_store_url(path):
        from turnwise.pipeline.io.databases import database_texts

        yield from contained_records(database_texts(path), limit)
        return
    if is_bigquery(path):
        from turnwise.pipeline.io.bigquery_source import query_records

        yield from query_records(path, limit)
        return
    with opened(path) as whole, unzipped(whole) as file:
        size = max(size, _local_size(path, whole))
        yield from split_records(path, file, limit)
        if is_local(path):
            is_short = _local_size(path, whole) < size
        else:  # the reads of a service may end early without an error
            is_short = not whole.closed and whole.tell() < size and not whole.read(1)
        if is_short:
            raise IncompleteReadError(SHORTENED)


def _local_size(path: str, file: BinaryIO) -> int:
    """Returns the size of an open file in bytes; 0: it is on another filesystem."""
    return os.fstat(file.fileno()).st_size if is_local(path) else 0


def opened(path: str) -> BinaryIO:
    """Opens a file as it is, without decompressing it."""
    if is_local(path):
        return open(path, "rb", buffering=_BUFFER)
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    return buffered(FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED))


def file_records(
    path: str | SizedPath | Failure, limit: int, stage: Stage = "read"
) -> Iterator[Record | Failure]:
    """Yields the records of one of the `listed_files`; one that breaks off is a failure of `stage`."""
    if isinstance(path, Failure):
        yield path
        return
    file = path if isinstance(path, SizedPath) else SizedPath(path, 0)
    try:
        yield from read_records(file.path, limit, file.size)
    except Exception as error:
        yield unread_rest(stage, error, shown_place(file.path))


def unread_rest(stage: Stage, error: Exception, place: str) -> Failure:
    """Returns the failure of a file that cannot be read, or not to its end."""
    return record_failure(stage, reading_error(error), Record(place, 0, b""))


def named_records(
    file: SizedPath | Failure, limit: int, named: Container[str], unread: Callable[[], object]
) -> Iterator[Record | Failure]:
    """Yields what `file_records` yields.

    Args:
        file: One of the `listed_files`.
        limit: A record of more bytes is a failure.
        named: The paths that an option names.
        unread: Called at the end if a named file gave nothing but failures.
    """
    gave = set[bool]()
    for record in file_records(file, limit):
        gave.add(isinstance(record, Record))
        yield record
    if gave == {False} and isinstance(file, SizedPath) and file.path in named:
        unread()
