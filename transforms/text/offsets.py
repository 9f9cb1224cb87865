"""Converts UTF-8 byte offsets to code-point offsets."""

from itertools import accumulate
from typing import NamedTuple

OUTSIDE = "OffsetOutsideText"
INSIDE = "OffsetInsideCharacter"
EMPTY = "EmptyRange"

_CONTINUATION = bytes(range(0x80, 0xC0))
_BLOCK = 1024


class TextRange(NamedTuple):
    """A byte range in code points.

    Attributes:
        start: Code-point offset; None: the range is invalid.
        end: Code-point offset, exclusive; None: the range is invalid.
        problem: OUTSIDE, INSIDE or EMPTY; None: the range is valid.
    """

    start: int | None
    end: int | None
    problem: str | None = None


class Utf8Text:
    """A text and its UTF-8 encoding.

    Attributes:
        text: The text.
        data: Its bytes; a lone surrogate is encoded as three bytes.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8", "surrogatepass")
        blocks = range(0, len(self.data), _BLOCK)
        lengths = (self._characters(start, start + _BLOCK) for start in blocks)
        self._before = [] if self.text.isascii() else [0, *accumulate(lengths)]

    def _characters(self, start: int, end: int) -> int:
        return len(self.data[start:end].translate(None, _CONTINUATION))

    def code_point(self, offset: int) -> int | None:
        """Returns the code-point offset of a byte offset; None: inside a character or outside the text."""
        if not 0 <= offset <= len(self.data):
            return None
        if not self._before:
            return offset
        if offset < len(self.data) and 0x80 <= self.data[offset] < 0xC0:
            return None
        block = offset // _BLOCK
        return self._before[block] + self._characters(block * _BLOCK, offset)

    def place(self, start: int, end: int) -> TextRange:
        """Returns a byte range in code points."""
        if not (0 <= start <= len(self.data) and 0 <= end <= len(self.data)):
            return TextRange(None, None, OUTSIDE)
        first, after = self.code_point(start), self.code_point(end)
        if first is None or after is None:
            return TextRange(None, None, INSIDE)
        return TextRange(first, after) if start < end else TextRange(None, None, EMPTY)

    def cut(self, start: int, end: int) -> str:
        """Returns the text of a byte range, valid or not; U+FFFD for partial characters."""
        return self.data[max(start, 0) : max(end, 0)].decode("utf-8", "replace")
