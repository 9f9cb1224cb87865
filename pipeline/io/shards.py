"""Divides files into shards, which worker processes of this machine take from a queue.

The queue is a pipe whose entries are read one by one: a worker that is done with a shard takes the next.
"""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

import apache_beam as beam
from msgspec import Struct

from turnwise.pipeline.io.files import SizedPath, listed_files
from turnwise.pipeline.io.ranges import FileRange, divided_files, measure
from turnwise.pipeline.io.sources import FileSource, ReadingRangesFn, ReadRecords
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES

_ENTRY = struct.Struct("=qqq")
_OVER, _WHOLE = -1, -1
_SHARDS_EACH = 32


class Stopping(Struct):
    """Whether this process shall read no further record, because nothing of this attempt is kept."""

    is_asked: bool = False


STOPPING = Stopping()


class Shards(NamedTuple):
    """The files of a source, in parts.

    Attributes:
        files: The source.
        parts: Ranges of local files of JSON Lines, whole files, and failures of unreadable paths.
    """

    files: FileSource
    parts: Sequence[FileRange | Failure]


def find_shards(files: FileSource, workers: int) -> Shards:
    """Lists and divides the files of a source."""
    return Shards(files, divided_among(listed_files(files.patterns), workers))


def divided_among(files: Sequence[SizedPath | Failure], workers: int) -> list[FileRange | Failure]:
    """Returns the shards of files, those of the largest first, so that workers end at about the same time.

    Files on other machines are read as a whole, because to divide one, its lines must be counted.
    """
    listed = sorted(files, key=lambda one: -one.size if isinstance(one, SizedPath) else 0)
    local = [one for one in listed if isinstance(one, Failure) or is_local(one.path)]
    remote = [one.path for one in listed if isinstance(one, SizedPath) and not is_local(one.path)]
    return [*map(FileRange, remote), *divided_files(local, _SHARDS_EACH * workers)]


def put_shards(queue: int, shards: Shards, workers: int) -> None:
    """Writes all shards into a pipe, and what tells each worker that there are no more.

    Lines are counted meanwhile: the number of lines before a range is part of its entry. It ends when no
    worker is left.
    """
    with suppress(BrokenPipeError):
        for entry in _numbered(shards):
            os.write(queue, _ENTRY.pack(*entry))
        for _ in range(workers):
            os.write(queue, _ENTRY.pack(_OVER, 0, 0))


def _numbered(shards: Shards) -> Iterator[tuple[int, int, int]]:
    """Yields indexes of parts: the first and last of a shard, with the number of lines before it.

    -1 lines: the file as a whole. Behind a range whose lines cannot be counted, those of the file are one.
    """
    for _, group in groupby(enumerate(shards.parts), key=lambda entry: getattr(entry[1], "path", "")):
        parts, lines = list(group), 0
        for index, part in parts:
            if isinstance(part, Failure) or not part.stop:
                yield index, index, _WHOLE
                continue
            line_ends = measure(part, shards.files.limit).line_ends
            if line_ends is None:
                yield index, parts[-1][0], lines if part.start else _WHOLE
                break
            yield index, index, lines
            lines += line_ends


def take_shards(queue: int, parts: Sequence[FileRange | Failure]) -> Iterator[FileRange | Failure]:
    """Yields the parts that no other worker has taken; each is taken when it is asked for."""
    while (entry := _ENTRY.unpack(os.read(queue, _ENTRY.size)))[0] != _OVER:
        index, end, lines = entry
        part, last = parts[index], parts[end]
        if isinstance(part, FileRange) and isinstance(last, FileRange):
            is_whole = lines == _WHOLE
            part = FileRange(part.path) if is_whole else part._replace(stop=last.stop, lines=lines)
        yield part


class _ReadShardsFn(ReadingRangesFn):
    """Takes and reads shards as long as there are some."""

    def __init__(self, shards: Shards, queue: int) -> None:
        files = shards.files
        super().__init__(files.limit, files.lost, frozenset(files.patterns))
        self._parts, self._queue = shards.parts, queue

    def process(self, start: bytes) -> Iterator[Any]:
        for part in take_shards(self._queue, self._parts):
            first, stop = (part.start, part.stop) if isinstance(part, FileRange) else (0, 0)
            for found in self.read(part, first, _before(stop) if stop else _always):
                if STOPPING.is_asked:
                    return
                yield found


def _before(stop: int) -> Callable[[int], bool]:
    return lambda offset: offset < stop


def _always(offset: int) -> bool:
    return True


class ShardSource:
    """Reads shards as long as there are some."""

    def __init__(self, shards: Shards, queue: int) -> None:
        """Creates a source.

        Args:
            shards: All shards of the run.
            queue: File descriptor of the pipe that `put_shards` writes into.
        """
        self._read = _ReadShardsFn(shards, queue)

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the reading steps to a pipeline."""
        start = root | f"{name}Start" >> beam.Impulse()
        outputs = start | f"{name}Read" >> beam.ParDo(self._read).with_outputs(
            FAILURES, COUNTS, main="records"
        )
        return ReadRecords(outputs["records"], outputs[FAILURES], outputs[COUNTS])
