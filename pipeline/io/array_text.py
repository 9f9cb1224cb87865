"""Splits the text of a JSON array at its commas, holding little more than one element of it."""

import codecs
import json
import re
from collections.abc import Iterator
from gzip import GzipFile
from typing import BinaryIO, NamedTuple

from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.score import KEPT_RECORD_BYTES

_BLOCK = 1 << 18
_SPACE = " \t\n\r"
_NO_SPACE = re.compile(rf"[^{_SPACE}]")
_MARKS = re.compile(r'\\.?|["\[\]{},]', re.DOTALL)
_DECODER = json.JSONDecoder()


class ArrayPart(NamedTuple):
    """The text between two commas of an array, or behind its end.

    Attributes:
        text: The text without the space around it; of one over the limit a beginning over the limit.
        ends_at: The comma behind it, or `]` for a closing bracket; empty: it has no end.
        is_valid: The text is one JSON value, not nested too deeply to be read.
        value: That value.
    """

    text: bytes
    ends_at: str
    is_valid: bool = False
    value: JsonValue = None


class ArrayText:
    """The text of an array, from the current element on."""

    def __init__(self, file: BinaryIO | GzipFile, limit: int) -> None:
        """Takes a file whose text begins with a bracket; parts of more than `limit` bytes are shortened."""
        self._file, self._limit = file, limit
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text, self._place = "", 0

    def parts(self) -> Iterator[ArrayPart]:
        """Yields the parts up to the one without an end: what is cut off, or follows the array."""
        self._pass_space()
        self._place += 1
        while (part := self._part()).ends_at:
            yield part
            if part.ends_at == "]":
                yield self._rest()
                return
        yield part

    def _part(self) -> ArrayPart:
        """Reads up to the next comma of the array.

        Of a text that is no JSON value, brackets and quotes tell the end: it is malformed, or not yet read
        to its end.
        """
        self._pass_space()
        marks, searched = _Marks(), 0
        while (part := self._decoded()) is None:
            end = marks.end(self._text, self._place + searched)
            if end >= 0:
                return self._ended(_bytes(self._text[self._place : end]), end)
            held = _bytes(self._text[self._place :])
            if len(held) > self._limit:
                return self._long(held, marks)
            searched = len(self._text) - self._place
            if not self._more():
                return ArrayPart(held, "")
        return part

    def _decoded(self) -> ArrayPart | None:
        """Reads up to the next comma if one JSON value stands before it, and all of that was read."""
        try:
            value, end = _DECODER.raw_decode(self._text, self._place)
            text = self._text[self._place : end].encode()
        except (ValueError, RecursionError):
            return None
        behind = _NO_SPACE.search(self._text, end)
        if behind is None or behind.group() not in ",]":
            return None
        return self._ended(text, behind.start())._replace(is_valid=True, value=value)

    def _long(self, held: bytes, marks: "_Marks") -> ArrayPart:
        """Passes the rest of a text that is over the limit."""
        text = held[: max(self._limit + 1, KEPT_RECORD_BYTES)]
        end = -1
        while end < 0:
            self._place = len(self._text)
            if not self._more():
                return ArrayPart(text, "")
            end = marks.end(self._text, 0)
        return self._ended(text, end)

    def _ended(self, text: bytes, end: int) -> ArrayPart:
        self._place = end + 1
        return ArrayPart(text, "," if self._text[end] == "," else "]")

    def _rest(self) -> ArrayPart:
        """Returns what follows the array: as much of it as a failure keeps."""
        self._pass_space()
        while len(self._text) - self._place < KEPT_RECORD_BYTES and self._more():
            pass
        return ArrayPart(_bytes(self._text[self._place :]), "")

    def _pass_space(self) -> None:
        while (found := _NO_SPACE.search(self._text, self._place)) is None:
            self._place = len(self._text)
            if not self._more():
                return
        self._place = found.start()

    def _more(self) -> bool:
        """Reads as much again as is held, at least a block; returns whether there was more."""
        held = self._text[self._place :]
        data = self._file.read(max(_BLOCK, len(held)))
        self._text, self._place = held + self._decoder.decode(data, final=not data), 0
        return bool(data)


class _Marks:
    """Searches the end of an element in a text that is given piece by piece."""

    def __init__(self) -> None:
        self._depth, self._is_string, self._is_escaped = 0, False, False

    def end(self, text: str, start: int) -> int:
        """Returns the place of the comma or bracket that ends the element; -1: it is not in this piece.

        Args:
            text: A text.
            start: Where the piece begins that has not been searched yet; it goes to the end of the text.
        """
        if start < len(text):
            start, self._is_escaped = start + self._is_escaped, False
        for mark in _MARKS.finditer(text, start):
            sign = mark.group()
            if sign[0] == "\\":
                self._is_escaped = len(sign) == 1
            elif sign == '"':
                self._is_string = not self._is_string
            elif self._is_string:
                continue
            elif sign in "[{":
                self._depth += 1
            elif self._depth == 0:
                return mark.start()
            elif sign != ",":
                self._depth -= 1
        return -1


def _bytes(text: str) -> bytes:
    return text.strip(_SPACE).encode("utf-8", "surrogateescape")
