"""A case: what is run on an engine beyond a comparison of tables."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.engines import Tools


class Case(NamedTuple):
    """A case.

    Attributes:
        name: Its name.
        lacks: Returns what is missing to run it; "": nothing.
        run: Runs it in an empty folder with so many generated turns (0: with what takes the least time);
            returns what was found, in some words. Raises CaseError if it did not end as it must.
    """

    name: str
    lacks: Callable[[Tools], str]
    run: Callable[[Tools, Path, int], str]
