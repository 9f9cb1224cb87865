"""Reads the elements of a JSON array one after the other, including malformed and deeply nested ones."""

import json
from collections.abc import Iterator
from gzip import GzipFile
from typing import BinaryIO, NamedTuple

from turnwise.pipeline.io.array_text import ArrayPart, ArrayText
from turnwise.schemas.jsonio import JsonValue, dump_json, key_twice
from turnwise.schemas.score import IncompleteReadError


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
                yield _broken_off(part.text, f"what follows the array's end (element {number}) is not read")
            return
        found = list(_whole_ones(part, limit))
        number += len(found)
        yield from found
        yield from _faults(part, number, len(found))
        is_ended = part.ends_at == "]"


def _fault(text: bytes, problem: str) -> ArrayFault:
    return ArrayFault(text, ValueError(problem))


def _broken_off(text: bytes, problem: str) -> ArrayFault:
    return ArrayFault(text, IncompleteReadError(problem))


def _whole_ones(part: ArrayPart, limit: int) -> Iterator[bytes | ArrayFault]:
    """Yields the elements of a part; of a truncated part only a complete object."""
    if not part.ends_at:
        if part.text.startswith(b"{") and not _is_broken(part.text):
            yield part.text
    elif len(part.text) > limit:
        yield part.text
    elif part.is_valid:
        yield _written(part.text, part.value)
    elif part.text:
        yield from _run_together(part.text)


def _written(text: bytes, value: JsonValue) -> bytes | ArrayFault:
    try:
        return dump_json(value) if key_twice(text, value) is None else text
    except ValueError as error:
        return ArrayFault(text, error)


def _faults(part: ArrayPart, number: int, found: int) -> Iterator[ArrayFault]:
    if not part.ends_at:
        what = f"from element {number + 1} on nothing was read"
        yield _broken_off(part.text, f"the array is cut off, or a bracket or a quote is missing: {what}")
    elif found > 1:
        yield _fault(part.text, f"a comma is missing before element {number}; both sides were read")
    elif not found and (part.ends_at == "," or number):
        yield _fault(b"", f"an element is missing after element {number}")


def _run_together(text: bytes) -> Iterator[bytes]:
    """Yields the texts of objects that follow each other without a comma; otherwise the text itself."""
    if not _is_broken(text):
        yield text
        return
    decoded = text.decode("utf-8", "surrogateescape")
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(decoded):
        try:
            _, end = decoder.raw_decode(decoded, place)
        except (ValueError, RecursionError):
            yield text
            return
        found.append(decoded[place:end].encode("utf-8", "surrogateescape"))
        place = end + len(decoded[end:]) - len(decoded[end:].lstrip())
    yield from found


def _is_broken(text: bytes) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return False
    except ValueError:
        return True
    return False
