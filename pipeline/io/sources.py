"""Reads JSON records from files on any filesystem that Beam supports."""

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.pvalue import PCollection
from apache_beam.transforms.core import RestrictionProvider

from turnwise.pipeline.io.files import (
    READ_PART,
    UNREAD_FILES,
    UNREAD_PART,
    WORKER,
    SizedPath,
    listed_files,
    named_records,
)
from turnwise.pipeline.io.ranges import (
    FileRange,
    MeasuredRange,
    file_ranges,
    measure,
    number_lines,
    range_records,
)
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES, CountingDoFn


class ReadRecords(NamedTuple):
    """Records, failures of reading, and counts."""

    records: "PCollection[Record]"
    failures: "PCollection[Failure]"
    counts: "PCollection[tuple[str, dict[str, int]]]"


class Source(Protocol):
    """Reads the records of a pipeline."""

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the reading steps to a pipeline; `name` is a prefix of their labels."""


class _ReadingFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str, named: frozenset[str]) -> None:
        super().__init__()
        self._limit, self._lost, self._named = max_record_bytes, lost, named

    def whole(self, file: SizedPath | Failure) -> Iterator[Any]:
        """Yields the records and failures of one of the `listed_files`."""
        return self._told_apart(
            named_records(file, self._limit, self._named, lambda: self.count(UNREAD_FILES))
        )

    def _told_apart(self, records: Iterable[Record | Failure]) -> Iterator[Any]:
        for record in records:
            if isinstance(record, Failure):
                self.count(self._lost)
                yield beam.pvalue.TaggedOutput(FAILURES, record)
            else:
                yield record


class _ReadFn(_ReadingFn):
    """Finds and reads all files."""

    def __init__(self, patterns: list[str], max_record_bytes: int, lost: str) -> None:
        super().__init__(max_record_bytes, lost, frozenset(patterns))
        self._patterns = patterns

    def process(self, start: bytes) -> Iterator[Any]:
        for file in listed_files(self._patterns):
            yield from self.whole(file)


class _RangeProvider(RestrictionProvider):
    """The bytes of a range; what is read as a whole is one unit."""

    def initial_restriction(self, part: FileRange | Failure) -> OffsetRange:
        if isinstance(part, Failure) or not part.stop:
            return OffsetRange(0, 1)
        return OffsetRange(part.start, part.stop)

    def create_tracker(self, restriction: OffsetRange) -> OffsetRestrictionTracker:
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, part: FileRange | Failure, restriction: OffsetRange) -> int:
        return int(restriction.size())


_TRACKER: Any = beam.DoFn.RestrictionParam(_RangeProvider())


class ReadingRangesFn(_ReadingFn):
    """Reads ranges; counts records by worker."""

    def start_bundle(self) -> None:
        """Names the worker."""
        super().start_bundle()
        self._worker = f"{WORKER}{socket.gethostname()}/{os.environ.get('WORKER_ID') or os.getpid()}"

    def read(self, part: FileRange | Failure, start: int, claim: Callable[[int], bool]) -> Iterator[Any]:
        """Yields the records and failures of a range whose lines begin at `start` or after it.

        Args:
            part: The range.
            start: Offset of a byte in it.
            claim: As in `range_records`; what is read as a whole is claimed by 0.
        """
        for one in self._found(part, start, claim):
            self.counts[self._worker] += isinstance(one, Record)
            yield one

    def _found(self, part: FileRange | Failure, start: int, claim: Callable[[int], bool]) -> Iterator[Any]:
        if isinstance(part, FileRange) and part.stop:
            gave = set[bool]()
            for one in self._told_apart(range_records(part, start, self._limit, claim)):
                gave.add(isinstance(one, Record))
                yield one
            if gave and part.path in self._named:
                self.count(f"{READ_PART if True in gave else UNREAD_PART}{part.path}")
        elif claim(0):
            yield from self.whole(part if isinstance(part, Failure) else SizedPath(part.path, 0))


class _ReadRangesFn(ReadingRangesFn):
    """Reads ranges, which a runner may divide further while they are read."""

    def process(self, part: FileRange | Failure, tracker: Any = _TRACKER) -> Iterator[Any]:
        return self.read(part, tracker.current_restriction().start, tracker.try_claim)


class FileSource:
    """Reads JSON, JSON Lines and Avro files, gzipped or not.

    Attributes:
        patterns: Paths and globs.
        limit: A record of more bytes is a failure.
        lost: Name of the counter of records that could not be read.
    """

    def __init__(
        self, patterns: list[str], max_record_bytes: int, lost: str, is_distributed: bool = False
    ) -> None:
        """Creates a source.

        Args:
            patterns: Paths and globs, see `file_patterns`.
            max_record_bytes: A larger record is a failure.
            lost: Name of the counter of records that could not be read.
            is_distributed: Distribute files, and ranges of JSON Lines, over the workers.
        """
        self.patterns, self.limit, self.lost = patterns, max_record_bytes, lost
        self._is_distributed = is_distributed

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the steps that find the files and read each one once."""
        start, read = root | f"{name}Start" >> beam.Impulse(), self._read()
        files = self._ranges(start, name) if self._is_distributed else start
        outputs = files | f"{name}Read" >> beam.ParDo(read).with_outputs(FAILURES, COUNTS, main="records")
        return ReadRecords(outputs["records"], outputs[FAILURES], outputs[COUNTS])

    def _read(self) -> _ReadingFn:
        if self._is_distributed:
            return _ReadRangesFn(self.limit, self.lost, frozenset(self.patterns))
        return _ReadFn(self.patterns, self.limit, self.lost)

    def _ranges(self, start: "PCollection[bytes]", name: str) -> "PCollection[Any]":
        """Adds the steps that divide the files into ranges, number their lines, and spread them.

        Flink takes what was once spread for spread, until it is grouped: of two Reshuffles in a row, it
        leaves out the second.
        """
        return (
            start
            | f"{name}Files" >> beam.FlatMap(partial(_file_ranges, patterns=self.patterns))
            | f"{name}SpreadFiles" >> beam.Reshuffle()
            | f"{name}CountLines" >> beam.Map(partial(_measured, limit=self.limit))
            | f"{name}GatherRanges" >> beam.GroupByKey()
            | f"{name}NumberLines" >> beam.FlatMap(_numbered)
            | f"{name}SpreadRanges" >> beam.Reshuffle()
        )


def _file_ranges(start: bytes, patterns: list[str]) -> list[FileRange | Failure]:
    return file_ranges(patterns)


def _measured(part: FileRange | Failure, limit: int) -> tuple[str, MeasuredRange | Failure]:
    if isinstance(part, Failure):
        return part.source or "", part
    return part.path, measure(part, limit)


def _numbered(file: tuple[str, Iterable[MeasuredRange | Failure]]) -> Iterator[FileRange | Failure]:
    measured: list[MeasuredRange] = []
    for one in file[1]:
        if isinstance(one, Failure):
            yield one
        else:
            measured.append(one)
    if measured:
        yield from number_lines(file[0], measured)
