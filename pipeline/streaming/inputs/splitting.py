"""Splits chunks of bytes into lines."""

from collections.abc import Iterable

from turnwise.schemas.score import KEPT_RECORD_BYTES


class OversizedLine(bytes):
    """The start of a line that exceeds the limit."""


class LineSplitter:
    """Splits a text into lines, independent of its chunks. Buffers at most one line."""

    def __init__(self, limit: int, is_after_cut: bool = False) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._is_dropping = False
        self._is_rest = is_after_cut

    @property
    def pending(self) -> bytes:
        """The start of an incomplete line."""
        return b"".join(self._parts)

    @property
    def is_between_lines(self) -> bool:
        """Whether no line is buffered or being dropped."""
        return not self._parts and not self._is_dropping

    def add(self, chunk: bytes) -> list[bytes]:
        """Returns the completed lines, blank ones included, without line ends."""
        first, *others = chunk.split(b"\n")
        lines = list(self._hold(first))
        if others:
            lines += self._end()
            lines += self._whole(others[:-1])
            lines += self._hold(others[-1])
        return lines

    def cut(self) -> list[bytes]:
        """Ends the line here. The rest up to the next line end is a line of its own, unless it is blank."""
        lines = self._end()
        self._is_rest = True
        return lines

    def _whole(self, lines: list[bytes]) -> Iterable[bytes]:
        for line in lines:
            yield line if len(line) <= self._limit else OversizedLine(line[:KEPT_RECORD_BYTES])

    def _hold(self, part: bytes) -> Iterable[bytes]:
        if self._is_dropping or not part:
            return
        self._parts.append(part)
        self._held += len(part)
        if self._held > self._limit:
            yield OversizedLine(self.pending[:KEPT_RECORD_BYTES])
            self._parts, self._held, self._is_dropping = [], 0, True

    def _end(self) -> list[bytes]:
        line, was_given = self.pending, self._is_dropping or self._is_rest
        self._parts, self._held, self._is_dropping, self._is_rest = [], 0, False, False
        return [] if was_given and not line.strip() else [line]
