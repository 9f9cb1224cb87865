"""Reads the elements of a JSON array one after the other, including malformed and deeply nested ones."""

import codecs
import json
import re
from collections.abc import Iterator
from gzip import GzipFile
from typing import BinaryIO, NamedTuple

from turnwise.schemas.jsonio import JsonValue, dump_json, key_twice
from turnwise.schemas.score import KEPT_RECORD_BYTES, IncompleteReadError

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
        self._text, self._position = "", 0

    def parts(self) -> Iterator[ArrayPart]:
        """Yields the parts up to the one without an end: what is cut off, or follows the array."""
        self._pass_space()
        self._position += 1
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
            end = marks.end(self._text, self._position + searched)
            if end >= 0:
                return self._ended(_bytes(self._text[self._position : end]), end)
            held = _bytes(self._text[self._position :])
            if len(held) > self._limit:
                return self._long(held, marks)
            searched = len(self._text) - self._position
            if not self._more():
                return ArrayPart(held, "")
        return part

    def _decoded(self) -> ArrayPart | None:
        """Reads up to the next comma if one JSON value stands before it, and all of that was read."""
        try:
            value, end = _DECODER.raw_decode(self._text, self._position)
            text = self._text[self._position : end].encode()
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
            self._position = len(self._text)
            if not self._more():
                return ArrayPart(text, "")
            end = marks.end(self._text, 0)
        return self._ended(text, end)

    def _ended(self, text: bytes, end: int) -> ArrayPart:
        self._position = end + 1
        return ArrayPart(text, "," if self._text[end] == "," else "]")

    def _rest(self) -> ArrayPart:
        """Returns what follows the array: as much of it as a failure keeps."""
        self._pass_space()
        while len(self._text) - self._position < KEPT_RECORD_BYTES and self._more():
            pass
        return ArrayPart(_bytes(self._text[self._position :]), "")

    def _pass_space(self) -> None:
        while (char := _NO_SPACE.search(self._text, self._position)) is None:
            self._position = len(self._text)
            if not self._more():
                return
        self._position = char.start()

    def _more(self) -> bool:
        """Reads as much again as is held, at least a block; returns whether there was more."""
        held = self._text[self._position :]
        data = self._file.read(max(_BLOCK, len(held)))
        self._text, self._position = held + self._decoder.decode(data, final=not data), 0
        return bool(data)


class _Marks:
    """Searches the end of an element in a text that is given piece by piece."""

    def __init__(self) -> None:
        self._depth, self._is_string, self._is_escaped = 0, False, False

    def end(self, text: str, start: int) -> int:
        """Returns where the comma or bracket stands that ends the element; -1: not from `start` on."""
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


class ArrayFault(NamedTuple):
    """What could not be read of an array, and why."""

    text: bytes
    error: ValueError


def array_elements(file: BinaryIO | GzipFile, limit: int) -> Iterator[bytes | ArrayFault]:
    """Yields the elements of a JSON array, written anew; if malformed or stating a key twice, unchanged.

    Of an element of more than `limit` bytes only a beginning of more bytes is yielded. If the end of an
    element cannot be determined, one fault names the first that was not read. Elements are counted from 1.
    """
    number, is_ended = 0, False
    for part in ArrayText(file, limit).parts():
        if is_ended:
            if part.text:
                problem = f"what follows the array's end (element {number}) is not read"
                yield ArrayFault(part.text, IncompleteReadError(problem))
            return
        elements = list(_elements(part, limit))
        number += len(elements)
        yield from elements
        if not part.ends_at:
            what = f"from element {number + 1} on nothing was read"
            problem = f"the array is cut off, or a bracket or a quote is missing: {what}"
            yield ArrayFault(part.text, IncompleteReadError(problem))
        elif len(elements) > 1:
            problem = f"a comma is missing before element {number}; both sides were read"
            yield ArrayFault(part.text, ValueError(problem))
        elif not elements and (part.ends_at == "," or number):
            yield ArrayFault(b"", ValueError(f"an element is missing after element {number}"))
        is_ended = part.ends_at == "]"


def _elements(part: ArrayPart, limit: int) -> Iterator[bytes | ArrayFault]:
    """Yields the elements of a part; of a truncated part only a complete object."""
    if not part.ends_at:
        if part.text.startswith(b"{") and not _is_broken(part.text):
            yield part.text
    elif len(part.text) > limit:
        yield part.text
    elif part.is_valid:
        try:
            yield dump_json(part.value) if key_twice(part.text, part.value) is None else part.text
        except ValueError as error:
            yield ArrayFault(part.text, error)
    elif part.text:
        yield from _run_together(part.text)


def _run_together(text: bytes) -> Iterator[bytes]:
    """Yields the texts of objects that follow each other without a comma; otherwise the text itself."""
    if not _is_broken(text):
        yield text
        return
    decoded = text.decode("utf-8", "surrogateescape")
    start, objects = 0, []
    while start < len(decoded):
        try:
            _, end = _DECODER.raw_decode(decoded, start)
        except (ValueError, RecursionError):
            yield text
            return
        objects.append(decoded[start:end].encode("utf-8", "surrogateescape"))
        start = end + len(decoded[end:]) - len(decoded[end:].lstrip())
    yield from objects


def _is_broken(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return isinstance(error, ValueError)
    return False
