"""Reads JSON records from files on any filesystem that Beam supports."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.pipeline.io.files import UNREAD_FILES, matched_files, named_records
from turnwise.schemas.failure import Failure
from turnwise.schemas.record import Record
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn
from turnwise.transforms.beam.parse import FAILURES


class ReadRecords(NamedTuple):
    """Records, failures of reading, and counts."""

    records: "PCollection[Record]"
    failures: "PCollection[Failure]"
    counts: "PCollection[dict[str, int]]"


class Source(Protocol):
    """Reads the records of a pipeline."""

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the reading steps to a pipeline; `name` is a prefix of their labels."""


class _ReadFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str, named: frozenset[str]) -> None:
        super().__init__()
        self._limit, self._lost, self._named = max_record_bytes, lost, named

    def process(self, path: str | Failure) -> Iterator[Any]:
        for record in named_records(path, self._limit, self._named, lambda: self.count(UNREAD_FILES)):
            if isinstance(record, Failure):
                self.count(self._lost)
                yield beam.pvalue.TaggedOutput(FAILURES, record)
            else:
                yield record


class FileSource:
    """Reads JSON, JSON Lines and Avro files, gzipped or not."""

    def __init__(
        self, patterns: list[str], max_record_bytes: int, lost: str, is_distributed: bool = False
    ) -> None:
        """Creates a source.

        Args:
            patterns: Paths and globs, see `file_patterns`.
            max_record_bytes: A larger record is a failure.
            lost: Name of the counter of records that could not be read.
            is_distributed: Distribute files and records over the workers.
        """
        self._patterns, self._limit = patterns, max_record_bytes
        self._lost, self._is_distributed = lost, is_distributed

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the steps that find the files and read each one once."""
        patterns = root | f"{name}Patterns" >> beam.Create([self._patterns], reshuffle=False)
        files = patterns | f"{name}Files" >> beam.FlatMap(matched_files)
        if self._is_distributed:
            files = files | f"{name}SpreadFiles" >> beam.Reshuffle()
        read = _ReadFn(self._limit, self._lost, frozenset(self._patterns))
        outputs = files | f"{name}Read" >> beam.ParDo(read).with_outputs(FAILURES, COUNTS, main="records")
        records = outputs["records"]
        if self._is_distributed:
            records = records | f"{name}SpreadRecords" >> beam.Reshuffle()
        return ReadRecords(records, outputs[FAILURES], outputs[COUNTS])
