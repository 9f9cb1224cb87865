"""Reads JSON records from files on any filesystem that Beam knows."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.file_kinds import KIND_BYTES, check_text
from turnwise.pipeline.io.records import GZIP_MAGIC, OTHER_SUFFIXES, SUFFIXES, split_records, unzipped
from turnwise.pipeline.io.walking import Unreadable, files_at, look_at, name_problem, shown_path
from turnwise.schemas.config import ConfigError
from turnwise.schemas.failure import Failure, record_failure
from turnwise.schemas.record import Record
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.beam.parse import FAILURES


class Source(Protocol):
    """Gives the records of a pipeline, and what could not be read."""

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Adds the reading steps to a pipeline; `name` keeps their labels apart."""


def file_patterns(option: str, paths: tuple[str, ...]) -> list[str]:
    """Returns the paths and globs of what an option names; a local directory stands for all files below it.

    Raises:
        ConfigError: A path is empty, names no local file, or a file that cannot be read or holds no text.
    """
    patterns: list[str] = []
    for path in paths:
        try:
            patterns += _patterns_of(path)
        except ValueError as error:
            raise ConfigError(f"{option} {path}: {error}") from None
    return patterns


def _patterns_of(path: str) -> list[str]:
    if "://" in path:
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
    """Raises ValueError or OSError if nothing can come from a local path."""
    if os.path.isdir(path):
        os.scandir(path).close()
        if next(files_at(path), None) is None:
            raise ValueError(f"no file in it ends in {', '.join(SUFFIXES)}")
    elif os.path.lexists(path):
        check_file(path)
    elif next(files_at(path), None) is None:
        raise ValueError("no such file")


def check_file(path: str) -> None:
    """Raises ValueError or OSError if a local file that is named as such cannot be read, or holds no text."""
    for seen in look_at(path):
        if isinstance(seen, Unreadable):
            raise seen.error
    if Path(path).suffix.lower() in OTHER_SUFFIXES:
        raise ValueError(f"is none of {', '.join(SUFFIXES)}")
    with open(path, "rb") as file:
        head = file.read(KIND_BYTES)
    if not path.endswith(".avro") and not head.startswith(GZIP_MAGIC):
        check_text(head)


class _ReadFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str) -> None:
        super().__init__()
        self._limit, self._lost = max_record_bytes, lost

    def process(self, path: str | Failure) -> Iterator[Any]:
        if isinstance(path, Failure):
            self.count(self._lost)
            yield beam.pvalue.TaggedOutput(FAILURES, path)
            return
        try:
            for record in read_records(path, self._limit):
                if isinstance(record, Failure):
                    self.count(self._lost)
                    yield beam.pvalue.TaggedOutput(FAILURES, record)
                else:
                    yield record
        except Exception as error:
            self.count(self._lost)
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("read", error, Record(path, 0, b"")))


class FileSource:
    """The records of JSON, JSON Lines and Avro files, gzipped or not."""

    def __init__(
        self, patterns: list[str], max_record_bytes: int, lost: str, is_distributed: bool = False
    ) -> None:
        """Keeps what to read.

        Args:
            patterns: Paths and globs, see `file_patterns`.
            max_record_bytes: A larger record is a failure.
            lost: Name of the counter of records that could not be read.
            is_distributed: True: spread the files and their records over the workers.
        """
        self._patterns, self._limit = patterns, max_record_bytes
        self._lost, self._is_distributed = lost, is_distributed

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Finds the files and reads every one once, however many paths lead to it."""
        patterns = root | f"{name}Patterns" >> beam.Create([self._patterns], reshuffle=False)
        files = patterns | f"{name}Files" >> beam.FlatMap(matched_files)
        if self._is_distributed:
            files = files | f"{name}SpreadFiles" >> beam.Reshuffle()
        outputs = files | f"{name}Read" >> beam.ParDo(_ReadFn(self._limit, self._lost)).with_outputs(
            FAILURES, main="records"
        )
        records = outputs["records"]
        if self._is_distributed:
            records = records | f"{name}SpreadRecords" >> beam.Reshuffle()
        return records, outputs[FAILURES]


def matched_files(patterns: list[str]) -> list[str | Failure]:
    """Returns the files that paths and globs name, each once, by name; then failures: what cannot be read."""
    remote = [pattern for pattern in patterns if "://" in pattern]
    paths = {file.path for found in FileSystems.match(remote) for file in found.metadata_list}
    local = {seen.path: seen for path in patterns if "://" not in path for seen in files_at(path)}
    failures: dict[str, str | Failure] = {}
    inodes = set[tuple[int, int]]()
    for path, seen in sorted(local.items()):
        if isinstance(seen, Unreadable):
            failures[path] = record_failure("read", seen.error, Record(shown_path(path), 0, b""))
        elif (identity := (seen.stat.st_dev, seen.stat.st_ino)) not in inodes:
            inodes.add(identity)
            paths.add(path)
    return [*sorted(paths), *failures.values()]


def read_records(path: str, limit: int) -> Iterator[Record | Failure]:
    """Yields the records of one file, gzipped or not; see `split_records`."""
    with unzipped(FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)) as file:
        yield from split_records(path, file, limit)
