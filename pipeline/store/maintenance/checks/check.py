"""One check of a store."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection

_MOST = 3


class Check(NamedTuple):
    """What is checked.

    Attributes:
        name: Its name.
        problems: Yields what is wrong at a time (nanoseconds since 1970), one line each.
    """

    name: str
    problems: Callable[[Connection, int], Iterator[str]]


def first_of(names: Iterable[str], what: str) -> Iterator[str]:
    """Yields one line that says of how many things something is so, with the first of them; none: no line."""
    found = iter(names)
    first = list(islice(found, _MOST))
    count = len(first) + sum(1 for _ in found)
    if count:
        more = " ..." if count > len(first) else ""
        yield f"{count} {what}: {', '.join(first)}{more}"
