"""Sources of a pipeline: whole files, ranges and shards of files, and rows of BigQuery."""

import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby, pairwise
from math import inf
from operator import gt
from threading import Event
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import apache_beam as beam
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.pvalue import PCollection
from apache_beam.transforms.core import RestrictionProvider

from turnwise.pipeline.io import records as record_files
from turnwise.pipeline.io.bigquery_source import RowsPart, RowsQuery, part_records, result_parts
from turnwise.pipeline.io.containers import open_path
from turnwise.pipeline.io.files import READ_PART, UNREAD_FILES, UNREAD_PART, WORKER, EventJoin, listed_files
from turnwise.pipeline.io.records import SizedPath
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.score import Failure, IncompleteReadError, record_failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES, BatchingDoFn, CountingDoFn, at_end, tagged
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LogReader, parse_record

_RANGES = 64
"""Number of ranges into which the files of a run on other machines are divided."""
_SHORTEST, _LONGEST = 1 << 20, 1 << 26
_BLOCK = 1 << 20


class FileRange(NamedTuple):
    """The lines of a file that begin in a range of its bytes, and the number of line ends before it.

    It is [start, stop); stop 0: the file is read as a whole, whatever it holds.
    """

    path: str
    start: int = 0
    stop: int = 0
    lines: int = 0


_Measured: TypeAlias = tuple[FileRange, int | None] | Failure


def file_ranges(start: bytes, patterns: list[str]) -> list[FileRange | Failure]:
    """Returns the files that paths and globs name, large ones in ranges of 1 to 64 MiB, and failures.

    Nothing is opened here, so a range may turn out to lie in a file that must be read as a whole.
    """
    return _divided_files(listed_files(patterns), _RANGES)


def _divided_files(listed: Sequence[SizedPath | Failure], number: int) -> list[FileRange | Failure]:
    """Returns files in about so many ranges together, each of 1 to 64 MiB, and failures as they are."""
    total = sum(file.size for file in listed if isinstance(file, SizedPath))
    length = min(max(total // number, _SHORTEST), _LONGEST)
    ranges: list[FileRange | Failure] = []
    for file in listed:
        if isinstance(file, Failure):
            ranges.append(file)
        elif (parts := round(file.size / length)) < 2 or not record_files.named_as_lines(file.path):
            ranges.append(FileRange(file.path))
        else:
            bounds = [file.size * i // parts for i in range(parts + 1)]
            ranges += [FileRange(file.path, start, stop) for start, stop in pairwise(bounds)]
    return ranges


def measure(part: FileRange, limit: int) -> int | None:
    """Returns the line ends in a range; None: read the file as a whole, and report there what is wrong."""
    with suppress(Exception):
        if part.stop:
            with open_path(part.path) as file:
                if part.start > 0 or record_files.holds_lines(part.path, file, limit):
                    return _line_ends(file, part.start, part.stop)
    return None


def number_lines(file: tuple[str, Iterable[_Measured]]) -> Iterator[FileRange | Failure]:
    """Yields failures, and the ranges of a file with the lines before each, or the file as a whole."""
    parts = list(file[1])
    yield from (part for part in parts if isinstance(part, Failure))
    lines, ranges = 0, []
    for part, line_ends in sorted(part for part in parts if not isinstance(part, Failure)):
        if line_ends is None:
            yield FileRange(file[0])
            return
        ranges.append(part._replace(lines=lines))
        lines += line_ends
    yield from ranges


def range_records(
    part: FileRange, start: int, limit: int, claim: Callable[[int], bool]
) -> Iterator[Record | Failure]:
    """Yields the records whose lines begin in a range, at the offset `start` or after it.

    `claim` is called with the offset of each line, and once with an offset behind the range or behind what is
    left of it; it returns whether the line belongs to what is to be read.
    """
    try:
        with open_path(part.path) as file:
            before = part.lines + _line_ends(file, part.start, start)
            offset, passed = _first_line(file, start)
            lines = _ClaimedLines(file, offset, claim)
            yield from record_files.line_records(part.path, lines.readline, limit, before + passed)
    except Exception as error:
        yield record_failure("read", record_files.reading_error(error), Record(part.path, 0, b""))
        claim(part.stop)


def _line_ends(file: BinaryIO, start: int, stop: int) -> int:
    file.seek(start)
    count = 0
    while start < stop and (block := file.read(min(_BLOCK, stop - start))):
        count += block.count(b"\n")
        start += len(block)
    return count


def _first_line(file: BinaryIO, start: int) -> tuple[int, int]:
    """Moves to the first line from `start` on; returns its offset, and 1 if it passed a line end, else 0."""
    file.seek(max(0, start - 1))
    if start == 0 or file.read(1) == b"\n":
        return start, 0
    offset = start
    while piece := file.readline(_BLOCK):
        offset += len(piece)
        if piece.endswith(b"\n"):
            return offset, 1
    return offset, 0


class _ClaimedLines:
    def __init__(self, file: BinaryIO, offset: int, claim: Callable[[int], bool]) -> None:
        self._file, self._offset, self._claim = file, offset, claim
        self._begins, self._is_over = True, False

    def readline(self, size: int, /) -> bytes:
        if self._is_over or (self._begins and not self._claim(self._offset)):
            self._is_over = True
            return b""
        piece = self._file.readline(size)
        if not piece:
            self._is_over = True
            if self._begins or self._claim(self._offset):
                raise IncompleteReadError(record_files.SHORTENED)
        self._offset += len(piece)
        self._begins = piece.endswith(b"\n")
        return piece


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
    def __init__(self, max_record_bytes: int, rejected: str, named: frozenset[str]) -> None:
        super().__init__()
        self._limit, self._rejected, self._named = max_record_bytes, rejected, named

    def whole(self, file: SizedPath | Failure) -> Iterator[Any]:
        unread = partial(self.counts.update, (UNREAD_FILES,))
        return self._tagged(record_files.file_records(file, self._limit, named=self._named, unread=unread))

    def _tagged(self, records: Iterable[Record | Failure]) -> Iterator[Any]:
        for record in records:
            if isinstance(record, Failure):
                self.counts[self._rejected] += 1
                yield beam.pvalue.TaggedOutput(FAILURES, record)
            else:
                yield record


def _read(parts: "PCollection[Any]", label: str, read: _ReadingFn) -> ReadRecords:
    outputs = parts | label >> beam.ParDo(read).with_outputs(FAILURES, COUNTS, main="records")
    return ReadRecords(outputs["records"], outputs[FAILURES], outputs[COUNTS])


class _ReadFn(_ReadingFn):
    def __init__(self, patterns: list[str], max_record_bytes: int, rejected: str) -> None:
        super().__init__(max_record_bytes, rejected, frozenset(patterns))
        self._patterns = patterns

    def process(self, start: bytes) -> Iterator[Any]:
        return chain.from_iterable(map(self.whole, listed_files(self._patterns)))


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


class _RangesFn(_ReadingFn):
    """Reads ranges; counts records by worker."""

    def start_bundle(self) -> None:
        super().start_bundle()
        self._worker = f"{WORKER}{socket.gethostname()}/{os.environ.get('WORKER_ID') or os.getpid()}"

    def read(self, part: FileRange | Failure, start: int, claim: Callable[[int], bool]) -> Iterator[Any]:
        """Yields records and failures of a range from `start` on; what is read as a whole is claimed by 0."""
        items: Iterable[Any] = ()
        if is_range := isinstance(part, FileRange) and part.stop > 0:
            items = self._tagged(range_records(part, start, self._limit, claim))
        elif claim(0):
            items = self.whole(part if isinstance(part, Failure) else SizedPath(part.path, 0))
        gave = set[bool]()
        for item in items:
            gave.add(isinstance(item, Record))
            self.counts[self._worker] += isinstance(item, Record)
            yield item
        if is_range and gave and isinstance(part, FileRange) and part.path in self._named:
            self.counts[f"{READ_PART if True in gave else UNREAD_PART}{part.path}"] += 1


class _ReadRangesFn(_RangesFn):
    def process(self, part: FileRange | Failure, tracker: Any = _TRACKER) -> Iterator[Any]:
        return self.read(part, tracker.current_restriction().start, tracker.try_claim)


class FileSource(NamedTuple):
    """Reads JSON, JSON Lines and Avro files, gzipped or not; `rejected` names a counter of records."""

    patterns: list[str]
    limit: int
    rejected: str
    is_distributed: bool = False

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        start: PCollection[Any] = root | f"{name}Start" >> beam.Impulse()
        if not self.is_distributed:
            return _read(start, f"{name}Read", _ReadFn(self.patterns, self.limit, self.rejected))
        # Flink takes what was once spread for spread, until it is grouped: of two Reshuffles in a row, it
        # leaves out the second.
        ranges = (
            start
            | f"{name}Files" >> beam.FlatMap(file_ranges, self.patterns)
            | f"{name}SpreadFiles" >> beam.Reshuffle()
            | f"{name}CountLines" >> beam.Map(partial(_measured, limit=self.limit))
            | f"{name}GatherRanges" >> beam.GroupByKey()
            | f"{name}NumberLines" >> beam.FlatMap(number_lines)
            | f"{name}SpreadRanges" >> beam.Reshuffle()
        )
        read = _ReadRangesFn(self.limit, self.rejected, frozenset(self.patterns))
        return _read(ranges, f"{name}Read", read)


def _measured(part: FileRange | Failure, limit: int) -> tuple[str, _Measured]:
    if isinstance(part, Failure):
        return part.source or "", part
    return part.path, (part, measure(part, limit))


# Worker processes of this machine take shards from a pipe, entry by entry: one that is done takes the next.
_ENTRY = struct.Struct("=qqq")
_OVER, _WHOLE = -1, -1
_SHARDS_EACH = 32


STOPPING = Event()
"""Set: this process shall read no further record, because nothing of this attempt is kept."""


class Shards(NamedTuple):
    """A source and its parts: ranges of local files of JSON Lines, whole files, and failures."""

    files: FileSource
    parts: Sequence[FileRange | Failure]


def divided_among(files: Sequence[SizedPath | Failure], workers: int) -> list[FileRange | Failure]:
    """Returns the shards of files, the largest first, so that workers end at about the same time.

    Files on other machines are read as a whole, because to divide one, its lines must be counted.
    """
    listed = sorted(files, key=lambda file: -file.size if isinstance(file, SizedPath) else 0)
    local = [file for file in listed if isinstance(file, Failure) or is_local(file.path)]
    remote = [file.path for file in listed if isinstance(file, SizedPath) and not is_local(file.path)]
    return [*map(FileRange, remote), *_divided_files(local, _SHARDS_EACH * workers)]


def put_shards(queue: int, shards: Shards, workers: int) -> None:
    """Writes all shards into a pipe, and what tells each worker that there are no more; ends without workers.

    An entry holds the indexes of the first and last part of a shard, and the number of lines before it, which
    are counted meanwhile. Behind a range whose lines cannot be counted, the ranges of the file are one shard.
    """
    by_file = groupby(enumerate(shards.parts), key=lambda entry: getattr(entry[1], "path", entry[0]))
    with suppress(BrokenPipeError):
        for parts in [list(parts) for _, parts in by_file]:
            lines = 0
            for index, part in parts:
                line_ends = None if isinstance(part, Failure) else measure(part, shards.files.limit)
                if line_ends is None:
                    before = lines if index > parts[0][0] else _WHOLE
                    os.write(queue, _ENTRY.pack(index, parts[-1][0], before))
                    break
                os.write(queue, _ENTRY.pack(index, index, lines))
                lines += line_ends
        for _ in range(workers):
            os.write(queue, _ENTRY.pack(_OVER, 0, 0))


def take_shards(queue: int, parts: Sequence[FileRange | Failure]) -> Iterator[FileRange | Failure]:
    """Yields the parts that no other worker has taken; each is taken when it is asked for."""
    while (entry := _ENTRY.unpack(os.read(queue, _ENTRY.size)))[0] != _OVER:
        index, end, lines = entry
        part, last = parts[index], parts[end]
        if isinstance(part, FileRange) and isinstance(last, FileRange):
            part = FileRange(part.path) if lines == _WHOLE else part._replace(stop=last.stop, lines=lines)
        yield part


class _ReadShardsFn(_RangesFn):
    def __init__(self, shards: Shards, queue: int) -> None:
        files = shards.files
        super().__init__(files.limit, files.rejected, frozenset(files.patterns))
        self._parts, self._queue = shards.parts, queue

    def process(self, start: bytes) -> Iterator[Any]:
        for part in take_shards(self._queue, self._parts):
            first, stop = (part.start, part.stop) if isinstance(part, FileRange) else (0, 0)
            for item in self.read(part, first, partial(gt, stop or inf)):
                if STOPPING.is_set():
                    return
                yield item


class ShardSource(NamedTuple):
    """Reads shards as long as there are some."""

    shards: Shards
    queue: int

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        return _read(root | f"{name}Start" >> beam.Impulse(), f"{name}Read", _ReadShardsFn(*self))


class _ReadPartFn(_ReadingFn):
    def process(self, part: RowsPart) -> Iterator[Any]:
        return self._tagged(part_records(part, self._limit))


class BigQuerySource(NamedTuple):
    """Reads the rows of queries, and the records of another source; else as `FileSource`."""

    queries: list[RowsQuery]
    other: Source | None
    limit: int
    rejected: str
    is_distributed: bool

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        queries = root | f"{name}Queries" >> beam.Create(self.queries, reshuffle=False)
        most = 0 if self.is_distributed else 1
        parts = queries | f"{name}RunQueries" >> beam.FlatMap(partial(result_parts, most=most))
        if self.is_distributed:
            parts = parts | f"{name}SpreadParts" >> beam.Reshuffle()
        rows = _read(parts, f"{name}ReadRows", _ReadPartFn(self.limit, self.rejected, frozenset()))
        if self.other is None:
            return rows
        pairs = zip(ReadRecords._fields, rows, self.other.read(root, name), strict=True)
        return ReadRecords(*((a, b) | f"{name}All_{field}" >> beam.Flatten() for field, a, b in pairs))


# Reads and joins events in one process, without a shuffle.


class ParseAndJoinFn(BatchingDoFn):
    """Yields the conversations of records, and in the end those that events make."""

    def __init__(self, reader: LogReader, is_alone: bool = True) -> None:
        super().__init__()
        self._reader, self._is_alone = reader, is_alone
        self._joining: EventJoin | None = None
        self._has_joined = False

    def outputs_of(self, batch: Sequence[Record]) -> list[Any]:
        """Returns what records hold; events are kept. Raises RuntimeError if bundles divide them."""
        outputs: list[Any] = []
        for content in chain.from_iterable(
            parse_record(self._reader, record, self.counts) for record in batch
        ):
            if not isinstance(content, ConversationEvent):
                outputs.append(tagged(content))
            elif not self._is_alone:
                STOPPING.set()
            elif self._has_joined:
                raise RuntimeError("events came in several bundles: the runner is not the in-process one")
            else:
                self._joining = self._joining or EventJoin()
                self._joining.add(content)
        return outputs

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the last conversations, what the events make, and the counts."""
        yield from at_end(self._taken())
        joining, self._joining = self._joining, None
        if joining is not None:
            self._has_joined = True
            with joining:
                for _, contents in joining.joined(self.counts):
                    yield from at_end(map(tagged, contents))
        yield from super().finish_bundle()


@beam.ptransform_fn
def ParseAndJoin(records: "PCollection[Record]", reader: LogReader, is_alone: bool = True) -> Any:
    """Parses all records in one bundle, and joins events when it ends; not `is_alone`: an event stops it."""
    parse = beam.ParDo(ParseAndJoinFn(reader, is_alone))
    return records | "Parse" >> parse.with_outputs(FAILURES, COUNTS, main="conversations")
