"""Explains the difference of two lists: as pytest does where its plugin is loaded, else by difflib."""

import difflib
from collections.abc import Callable, Sequence
from typing import TypeAlias

Explain: TypeAlias = Callable[[Sequence[object], Sequence[object]], Sequence[str]]
"""Returns the lines about two lists that differ: what was made, and what was expected."""


def _plain_lines(made: Sequence[object], expected: Sequence[object]) -> list[str]:
    lines = difflib.ndiff([f"{call!r}" for call in expected], [f"{call!r}" for call in made])
    return ["- expected, + made", *(line.rstrip("\n") for line in lines)]


EXPLAINERS: list[Explain] = [_plain_lines]
"""The last one explains; the pytest plugin adds its own for the time of a session."""
