"""The elements of a JSON array, however deeply they are nested."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from turnwise.schemas.values import JsonValue

_MARKS = re.compile(rb'\\.|["\[\]{},]', re.DOTALL)


class RawElement(NamedTuple):
    """An element that is nested too deeply to be parsed."""

    text: bytes


def array_elements(text: bytes) -> list[JsonValue | RawElement] | None:
    """Returns the elements of a JSON array; None if the text is none."""
    if text.lstrip()[:1] != b"[":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return [_parsed(part) for part in _split(text)]


def _parsed(text: bytes) -> JsonValue | RawElement:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return RawElement(text)


def _split(text: bytes) -> Iterator[bytes]:
    """Yields the texts of an array's elements, and what follows the array."""
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
            yield from _stripped(text[start : mark.start()])
            start = mark.end()
        if depth == 0:
            break
    yield from _stripped(text[start:])


def _stripped(text: bytes) -> Iterator[bytes]:
    if text := text.strip():
        yield text
