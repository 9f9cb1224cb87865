"""Says where a record holds what a reader cannot take, if the reader's own error does not."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import orjson

from turnwise.schemas.record import Record
from turnwise.schemas.values import JsonValue, short_repr

_MOST_TRIES, _MOST_BYTES = 400, 1 << 22
_SHOWN = 80
_PYTHONS_OWN = re.compile(
    r"math domain error|math range error|could not convert|invalid literal|cannot convert|out of range"
    r"|too large|Exceeds the limit|not enough values|too many values|must be real number|null byte",
    re.IGNORECASE,
)
"""Messages of ValueErrors that Python raises, and no reader."""


def is_on_purpose(error: BaseException) -> bool:
    """Returns whether an error was raised with a message for people, or is none of a value."""
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return True
    return isinstance(error, ValueError) and not _PYTHONS_OWN.search(str(error))


def located(error: BaseException, read: Callable[[Record], object], record: Record) -> BaseException:
    """Returns an error that names the place of the value that a reader could not take.

    An error that a reader raised on purpose stays: it names its place itself. For any other, the smallest
    value is looked for without which the record is read.

    Args:
        error: What the reader raised.
        read: The reader.
        record: The record.
    """
    if is_on_purpose(error):
        return error
    try:
        value = orjson.loads(record.data)
    except ValueError:
        return ValueError("the record is no JSON that this format can hold")

    def is_read(changed: JsonValue) -> bool:
        try:
            read(record._replace(data=orjson.dumps(changed)))
        except Exception:
            return False
        return True

    tries = min(_MOST_TRIES, _MOST_BYTES // (len(record.data) + 1))
    path, found = _smallest(value, is_read, tries)
    place = path.removeprefix(".") or "the record"
    return ValueError(f"{place}: {short_repr(found, _SHOWN)} is not what this format holds there")


def _smallest(value: JsonValue, is_read: Callable[[JsonValue], bool], tries: int) -> tuple[str, JsonValue]:
    """Returns path and value of the first part without which a JSON value can be read, inner ones first."""
    for holder, key, path in islice(_parts(value, ""), tries):
        kept = holder[key]
        if kept is None:
            continue
        holder[key] = None
        if is_read(value):
            return path, kept
        holder[key] = kept
    return "", value


def _parts(node: JsonValue, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Yields the parts of a JSON value as holder, key and path."""
    names: list[tuple[Any, str]] = []
    if isinstance(node, dict):
        names = [(key, f"{path}.{key}") for key in node]
    elif isinstance(node, list):
        names = [(place, f"{path}[{place}]") for place in range(len(node))]
    for key, name in names:
        yield from _parts(node[key], name)
        yield node, key, name
