"""Divides files of JSON Lines into ranges of bytes, so that several workers read one file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from turnwise.pipeline.io.files import SHORTENED, SizedPath, listed_files, opened, unread_rest
from turnwise.pipeline.io.records import holds_lines, line_records, named_as_lines
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure, IncompleteReadError

_RANGES = 64
"""Number of ranges into which the files of a run on other machines are divided."""
_SHORTEST, _LONGEST = 1 << 20, 1 << 26
_BLOCK = 1 << 20


class FileRange(NamedTuple):
    """The lines of a file that begin in a range of its bytes.

    Attributes:
        path: The file.
        start: Offset of the first byte.
        stop: Offset behind the last byte; 0: the file is read as a whole, whatever it holds.
        lines: Number of line ends before `start`.
    """

    path: str
    start: int = 0
    stop: int = 0
    lines: int = 0


class MeasuredRange(NamedTuple):
    """A range and the number of line ends in it; None: the file must be read as a whole."""

    part: FileRange
    line_ends: int | None


def file_ranges(patterns: list[str]) -> list[FileRange | Failure]:
    """Returns the files that paths and globs name, large ones in ranges, and failures of unreadable paths.

    The more there is to read, the longer is a range: 1 to 64 MiB. Nothing is opened here, so a range may
    turn out to lie in a file that must be read as a whole.
    """
    return divided_files(listed_files(patterns), _RANGES)


def divided_files(listed: Sequence[SizedPath | Failure], number: int) -> list[FileRange | Failure]:
    """Returns files in about so many ranges together, each of 1 to 64 MiB, and failures as they are."""
    total = sum(one.size for one in listed if isinstance(one, SizedPath))
    length = min(max(total // number, _SHORTEST), _LONGEST)
    ranges: list[FileRange | Failure] = []
    for one in listed:
        ranges += [one] if isinstance(one, Failure) else _ranges(one, length)
    return ranges


def _ranges(file: SizedPath, length: int) -> Iterator[FileRange]:
    number = round(file.size / length)
    if number < 2 or not named_as_lines(file.path):
        yield FileRange(file.path)
        return
    bounds = [file.size * i // number for i in range(number + 1)]
    for start, stop in pairwise(bounds):
        yield FileRange(file.path, start, stop)


def measure(part: FileRange, limit: int) -> MeasuredRange:
    """Counts the line ends of a range. What cannot be read here is reported where the file is read."""
    if not part.stop:
        return MeasuredRange(part, None)
    try:
        with opened(part.path) as file:
            if part.start == 0 and not holds_lines(part.path, file, limit):
                return MeasuredRange(part, None)
            return MeasuredRange(part, _line_ends(file, part.start, part.stop))
    except Exception:
        return MeasuredRange(part, None)


def number_lines(path: str, measured: Iterable[MeasuredRange]) -> Iterator[FileRange]:
    """Yields the ranges of one file with the number of lines before each, or the file as a whole."""
    lines, ranges = 0, []
    for part, line_ends in sorted(measured, key=lambda one: one.part.start):
        if line_ends is None:
            yield FileRange(path)
            return
        ranges.append(part._replace(lines=lines))
        lines += line_ends
    yield from ranges


def range_records(
    part: FileRange, start: int, limit: int, claim: Callable[[int], bool]
) -> Iterator[Record | Failure]:
    """Yields the records whose lines begin in a range, at `start` or after it.

    Args:
        part: The range.
        start: Offset of a byte in it; a line that begins before is not read.
        limit: A line of more bytes is a failure.
        claim: Called with the offset of each line, and once with an offset behind the range or behind what
            is left of it; returns whether the line belongs to what is to be read.
    """
    try:
        with opened(part.path) as file:
            before = part.lines + _line_ends(file, part.start, start)
            offset, passed = _first_line(file, start)
            lines = _ClaimedLines(file, offset, claim)
            yield from line_records(part.path, lines, limit, before + passed)
    except Exception as error:
        yield unread_rest("read", error, part.path)
        claim(part.stop)


def _line_ends(file: BinaryIO, start: int, stop: int) -> int:
    file.seek(start)
    found = 0
    while start < stop and (block := file.read(min(_BLOCK, stop - start))):
        found += block.count(b"\n")
        start += len(block)
    return found


def _first_line(file: BinaryIO, start: int) -> tuple[int, int]:
    """Moves to the first line that begins at `start` or after it.

    Returns:
        The offset of the line, and 1 if the end of the line before it was passed, else 0.
    """
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
    """The lines of an open file, each claimed before it is read."""

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
                raise IncompleteReadError(SHORTENED)
        self._offset += len(piece)
        self._begins = piece.endswith(b"\n")
        return piece
