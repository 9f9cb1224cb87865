"""Sides of comparisons, made by hand: one conversation a case, with what criteria gave it."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnwise.schemas.comparison import Comparison
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of

P, F, U = "PASS", "FAIL", None
Given = Mapping[str, Sequence[Any]]
"""Criterion -> outcome or value of each case."""


def observed(given: Any, why: str | None = None) -> Observed:
    """Returns what a criterion gave: an outcome, a value, or what it is already; `why` it does not pass."""
    if isinstance(given, Observed):
        return given
    if isinstance(given, float):
        return Observed(given)
    return Observed({P: 1.0, F: 0.0}.get(given), given, why=None if given == P else why)


BLANK = dict.fromkeys(("outcome", "threshold", "label", "reason", "explanation", "details", "judge"))


def score_row(eval_id: str | None, value: float | None, criterion: str = "match", **more: Any) -> Any:
    """Returns a row of `scores`: of the whole conversation, unless `more` names a turn."""
    named = {"run_id": "r", "conversation_id": "c", "app_version": "v", "eval_id": eval_id}
    found = {"turn_index": None, "criterion": criterion, "value": value, "revision": 0}
    return {**BLANK, **named, **found, "language": None, "tags": [], **more}


def raised_row(conversation_id: str, app_version: str | None, criterion: str, message: str) -> FailureRow:
    """Returns the row of an error that a criterion raised."""
    row: Any = {"conversation_id": conversation_id, "app_version": app_version, "stage": "score"}
    return row | {"criterion": criterion, "message": message}


def side(name: str, given: Given, prefix: str = "", **fields: Any) -> ComparedSide:
    """Returns a side, whose cases have names with a prefix."""
    made = [
        ComparedConversation(
            f"{name}-{i}",
            name,
            f"{prefix}e{i}",
            criteria={criterion: observed(own[i]) for criterion, own in given.items()},
        )
        for i in range(len(next(iter(given.values()))))
    ]
    return ComparedSide(name, "out", columns_of(made), ["run"], **{"rejected": 0, **fields})


def compared(baseline: Given, candidate: Given, **options: Any) -> Comparison:
    """Returns the comparison of two versions, v1 and v2."""
    return compare(side("v1", baseline), side("v2", candidate), CompareOptions(**options))
