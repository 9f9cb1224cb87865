"""Judged items of CES's criteria: statements, answers, rubrics and values, with their scores."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from turnwise.schemas.score import Score


class Statement(Struct, frozen=True):
    """An evaluation expectation. `score`: 1.0 met, 0.0 not met, None: not judged.

    Attributes:
        expectation: The expectation as the case states it, or the name of its resource.
        prompt: Text that was judged; None: the config has none.
        reason: Reason of the score, or why there is none.
    """

    expectation: str
    prompt: str | None
    score: float | None
    reason: str | None


class ExpectedAnswer(Struct, frozen=True):
    """An expected answer of a scenario. `score`: 1.0 given, 0.0 not given, None: not judged.

    Attributes:
        place: Index of its expectation among the outcomes.
        quote: The agent's words that decide.
    """

    place: int
    score: float | None
    quote: str | None


class JudgedRubric(Struct, frozen=True):
    """A rubric of a scenario. `score`: 0..1, None: not judged."""

    rubric: str
    score: float | None
    reason: str | None


class ComparedValue(Struct, frozen=True):
    """A value compared by meaning. `score`: 1.0 same meaning, 0.0 another, None: not judged.

    Attributes:
        place: Index of its expectation among the outcomes.
        name: Parameter or variable; `response` for a tool's response.
    """

    place: int
    name: str
    score: float | None


Item = TypeVar("Item", Statement, ExpectedAnswer, JudgedRubric, ComparedValue)


class ItemScore(Score, Generic[Item]):
    """Score of judged items.

    Attributes:
        items: The items, in the order of the case. The details hold the same for the table of scores.
    """

    items: tuple[Item, ...] = ()


def with_items(score: Score, items: Iterable[Item]) -> ItemScore[Item]:
    """Returns a score with its items."""
    values = {name: getattr(score, name) for name in Score.__struct_fields__}
    return ItemScore(**values, items=tuple(items))


def items_of(score: Score | None, kind: type[Item]) -> list[Item]:
    """Returns the items of a score that are of a kind; none of a score without items."""
    return [item for item in score.items if isinstance(item, kind)] if isinstance(score, ItemScore) else []
