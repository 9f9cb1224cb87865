"""The words of the judge's tasks: one text file a task, one folder a generation.

`reworded` holds the tasks and rules of the second generation in other words, without their examples.
"""

from functools import cache
from importlib.resources import files

_TEXTS = files("turnwise.transforms.judging") / "wordings"


@cache
def wording(name: str, generation: str) -> str:
    """Returns the words of a task, or `rules` (for all tasks) or `user_rules` (of simulated users)."""
    return (_TEXTS / generation / f"{name}.txt").read_text("utf-8").strip()


@cache
def wordings(generation: str) -> tuple[str, ...]:
    """Returns the names of the wordings of a generation."""
    texts = (_TEXTS / generation).iterdir()
    return tuple(sorted(text.name.removesuffix(".txt") for text in texts))
