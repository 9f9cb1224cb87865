"""The words of the judge's tasks: one text file a task, one folder a generation."""

from functools import cache
from importlib.resources import files


@cache
def wording(name: str, generation: str) -> str:
    """Returns the words of a task, or `rules` (for all tasks) or `user_rules` (of simulated users)."""
    return (files(__package__) / generation / f"{name}.txt").read_text("utf-8").strip()
