"""Reads JSON records from files on any filesystem that Beam knows."""

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection

from pipeline.records import OTHER_SUFFIXES, SUFFIXES, split_records, unzipped
from schemas.config import ConfigError
from schemas.failure import Failure, record_failure
from schemas.record import Record
from transforms.counting import CountingDoFn
from transforms.parse import FAILURES


class Source(Protocol):
    """Gives the records of a pipeline, and what could not be read."""

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Adds the reading steps to a pipeline; `name` keeps their labels apart."""


def file_patterns(option: str, paths: tuple[str, ...]) -> list[str]:
    """Returns the globs of what an option names; a directory stands for everything readable below it.

    Raises:
        ConfigError: A path is empty, matches no local file, or is a file of a kind that is not read.
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
    if not Path(path).is_dir():
        path = glob.escape(path) if Path(path).is_file() else path
        if not FileSystems.match([path], limits=[1])[0].metadata_list:
            raise ValueError("no such file")
        if Path(path).suffix.lower() in OTHER_SUFFIXES:
            raise ValueError(f"is none of {', '.join(SUFFIXES)}")
        return [path]
    found = [f"{glob.escape(path)}/**{suffix}" for suffix in SUFFIXES]
    if not any(result.metadata_list for result in FileSystems.match(found, limits=[1] * len(found))):
        raise ValueError(f"no file in it ends in {', '.join(SUFFIXES)}")
    return found


class _ReadFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str) -> None:
        super().__init__()
        self._limit, self._lost = max_record_bytes, lost

    def process(self, path: str) -> Iterator[Any]:
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
            patterns: Globs.
            max_record_bytes: A larger record is a failure.
            lost: Name of the counter of records that could not be read.
            is_distributed: True: spread the files and their records over the workers.
        """
        self._patterns, self._limit = patterns, max_record_bytes
        self._lost, self._is_distributed = lost, is_distributed

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Matches the globs and reads every file once, however many globs match it."""
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


def matched_files(patterns: list[str]) -> list[str]:
    """Returns the files that globs match, each once, in order of their names."""
    return sorted({file.path for found in FileSystems.match(patterns) for file in found.metadata_list})


def read_records(path: str, limit: int) -> Iterator[Record | Failure]:
    """Yields the records of one file, gzipped or not; see `split_records`."""
    with unzipped(FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)) as file:
        yield from split_records(path, file, limit)
