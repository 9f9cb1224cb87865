"""Splits JSON arrays into elements, including deeply nested and malformed arrays."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from turnwise.schemas.jsonio import key_twice
from turnwise.schemas.values import JsonValue

_MARKS = re.compile(rb'\\.|["\[\]{},]', re.DOTALL)


class ArrayFault(NamedTuple):
    """An error in the structure of an array, and the text that could not be read."""

    text: bytes
    problem: str


class _ArrayPart(NamedTuple):
    text: bytes
    ends_at: bytes


def array_elements(text: bytes) -> list[JsonValue] | None:
    """Returns the elements of a JSON array.

    Returns:
        None: it is no array, malformed, nested too deeply, or an object in it states a key twice, so that its
        texts are to be read.
    """
    if text.lstrip()[:1] != b"[":
        return None
    try:
        elements: list[JsonValue] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return elements if key_twice(text, elements) is None else None


def element_texts(text: bytes) -> Iterator[bytes | ArrayFault]:
    """Yields the texts of the elements of a deeply nested or malformed JSON array.

    A malformed element is yielded unchanged. If its end cannot be determined, one fault names the first
    element that was not read. Elements are counted from 1.
    """
    number, is_ended = 0, False
    for part in _split(text):
        if is_ended:
            if part.text:
                yield ArrayFault(
                    part.text, f"what follows the end of the array (element {number}) is not read"
                )
            return
        found = list(_whole_ones(part))
        number += len(found)
        yield from found
        yield from _faults(part, number, len(found))
        is_ended = part.ends_at == b"]"


def _whole_ones(part: _ArrayPart) -> Iterator[bytes]:
    """Yields the elements of a part; of a truncated part only a complete object."""
    if part.ends_at:
        yield from _run_together(part.text) if part.text else ()
    elif part.text.startswith(b"{") and not _is_broken(part.text):
        yield part.text


def _faults(part: _ArrayPart, number: int, found: int) -> Iterator[ArrayFault]:
    if not part.ends_at:
        what = f"from element {number + 1} on nothing was read"
        yield ArrayFault(part.text, f"the array is cut off, or a bracket or a quote is missing: {what}")
    elif found > 1:
        yield ArrayFault(part.text, f"a comma is missing before element {number}; both sides were read")
    elif not found and (part.ends_at == b"," or number):
        yield ArrayFault(b"", f"an element is missing after element {number}")


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


def _split(text: bytes) -> Iterator[_ArrayPart]:
    """Yields the texts of an array's elements with the character that ends each, then the rest."""
    depth = start = 0
    is_string = False
    for mark in _MARKS.finditer(text):
        sign = mark.group()
        if sign == b'"':
            is_string = not is_string
        elif is_string or len(sign) > 1:
            continue
        elif sign in b"[{":
            depth += 1
            start = mark.end() if depth == 1 else start
        elif sign in b"]}":
            depth -= 1
        if depth == 0 or (depth == 1 and sign == b","):
            yield _ArrayPart(text[start : mark.start()].strip(), b"]" if depth == 0 else b",")
            start = mark.end()
        if depth == 0:
            break
    yield _ArrayPart(text[start:].strip(), b"")
