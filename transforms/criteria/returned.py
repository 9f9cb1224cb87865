"""Checks what the methods of criteria return, and decides it by the thresholds."""

from collections.abc import Sequence
from functools import cache
from inspect import isawaitable, iscoroutine
from math import isclose, isfinite
from numbers import Real
from typing import get_args

from msgspec import Struct
from msgspec.structs import asdict
from pydantic_core import from_json, to_json

from turnwise.schemas.jsonio import JsonObject, short_repr
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.reasons import why_overall, why_unpaired
from turnwise.transforms.matching.sample import Sample, TurnPair

NO_REASON = "the criterion gave no value and no reason"
_OUTCOMES = (None, *get_args(Outcome))
_ROUNDING = 1e-9
_SHOWN = 40


def listed_scores(found: object) -> Sequence[Score]:
    """Returns the scores of a list that a criterion returned for a turn.

    Raises:
        BaseException: What the criterion raised in place of returning.
        TypeError: It returned something else than a Score, a list of Scores or None.
    """
    if isinstance(found, BaseException):
        raise found
    if not isinstance(found, list | tuple):
        raise _wrong("score", found, "a Score, a list of Scores, or None")
    for score in found:
        if not isinstance(score, Score):
            raise _wrong("score", score, "a list of Scores", "a list with ")
    return found


def overall_score(criterion: Criterion, sample: Sample, turns: Sequence[tuple[int, Score]]) -> Score | None:
    """Returns the summary of the scores of the turns, by index.

    Raises:
        TypeError: The criterion returned no Score, or its value is no number.
        ValueError: Its value is outside the criterion's scale.
    """
    overall = one_score("overall", criterion.overall([score for _, score in turns]))
    if overall is not None:
        check_score(criterion, overall)
        if overall.outcome == "FAIL" and overall.explanation is None:
            overall.explanation = why_overall(turns) or criterion.why_failed(sample, None, overall)
        _explain_pass(criterion, overall)
    return overall


def decide_score(criterion: Criterion, sample: Sample, pair: TurnPair | None, score: Score) -> None:
    """Checks a score and sets its outcome; one that fails says why, and what is wrong with its turn.

    Raises:
        TypeError: Its value is no number, or its details hold what JSON cannot.
        ValueError: Its value is outside the criterion's scale, or its outcome is impossible.
    """
    check_score(criterion, score)
    criterion.gated(score)
    if score.outcome == "FAIL":
        if pair is not None and pair.label:
            score.explanation = " ".join(filter(None, (why_unpaired(pair), score.explanation)))
        elif score.explanation is None:
            score.explanation = criterion.why_failed(sample, pair, score)
    else:
        _explain_pass(criterion, score)


def _explain_pass(criterion: Criterion, score: Score) -> None:
    """Says of a score without a word that it passes although its value does not."""
    if score.outcome == "PASS" and score.explanation is None and not criterion.reaches(score):
        threshold = criterion.threshold if score.threshold is None else score.threshold
        score.explanation = f"It passes, although {score.value:g} does not reach the threshold {threshold:g}."


def one_score(method: str, found: object) -> Score | None:
    """Returns what a method returned.

    Raises:
        TypeError: It is neither a Score nor None.
        BaseException: What the method raised.
    """
    if found is None or isinstance(found, Score):
        return found
    if isinstance(found, BaseException):
        raise found
    raise _wrong(method, found, "a Score or None")


async def awaited_score(method: str, found: object) -> Score | None:
    """Awaits what a method returned.

    Raises:
        TypeError: It is no coroutine, or its result is no score.
    """
    if not isawaitable(found):
        raise _wrong(method, found, f"a coroutine (`async def {method}`)")
    return one_score(method, await found)


def check_score(criterion: Criterion, score: Score) -> None:
    """Makes the value of a score a plain float, and gives a score without a value a reason.

    A value that is not finite is left as it is. The details of a plugin's score become plain JSON values.

    Raises:
        TypeError: The value is no number, or the details hold what JSON cannot.
        ValueError: The value is outside the criterion's scale, or the outcome is impossible.
    """
    value, scale = score.value, criterion.scale
    if score.details is not None and not _is_built_in(type(criterion)):
        score.details = _json_object(score.details)
    if value.__class__ is not float or score.outcome not in _OUTCOMES:
        value = _complete(score)
    if value is not None and scale is not None and not scale[0] <= value <= scale[1]:
        _check_outside(criterion, value, scale)


@cache
def _is_built_in(kind: type[Criterion]) -> bool:
    return kind.__module__.startswith("turnwise.transforms.criteria.")


def _json_object(details: object) -> JsonObject:
    """Returns details with numpy's scalars and arrays as numbers and lists, and records as objects."""
    try:
        found = from_json(to_json(details, inf_nan_mode="null", fallback=_builtin))
    except (ValueError, RecursionError) as error:
        raise TypeError(f"the details cannot be written as JSON: {error}") from None
    if isinstance(found, dict):
        return found
    raise TypeError(f"the details are {short_repr(details, _SHOWN)}, a {_type(details)}; needed is a dict")


def _builtin(value: object) -> object:
    if isinstance(value, Struct):
        return asdict(value)
    found = value.tolist() if hasattr(value, "tolist") else value
    if type(found) is type(value):
        raise TypeError(f"{short_repr(value, _SHOWN)}, a {_type(value)}")
    return found


def _complete(score: Score) -> float | None:
    value: object = score.value
    if score.outcome not in _OUTCOMES:
        raise ValueError(
            f"the outcome is {short_repr(score.outcome, _SHOWN)}; it must be PASS, FAIL, SKIPPED or None"
        )
    if value is None:
        if score.outcome == "PASS":
            raise ValueError("the outcome is PASS, but there is no value")
        score.reason = score.reason or NO_REASON
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(
            f"the value is {short_repr(value, _SHOWN)}, a {_type(value)}; it must be a number or None"
        )
    score.value = float(value)
    return score.value


def _check_outside(criterion: Criterion, value: float, scale: tuple[float, float]) -> None:
    """Raises ValueError, except for rounding errors and the values that the criterion names."""
    near = any(isclose(value, end, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for end in scale)
    if isfinite(value) and not near and value not in criterion.special_values:
        low, high = scale
        raise ValueError(f"the value {value:g} is outside the criterion's scale, {low:g} to {high:g}")


def _wrong(method: str, found: object, needed: str, before: str = "") -> TypeError:
    if iscoroutine(found):
        found.close()
        return TypeError(
            f"{method} returned {before}a coroutine; needed is {needed} (`def`, not `async def`)"
        )
    return TypeError(
        f"{method} returned {before}{short_repr(found, _SHOWN)}, a {_type(found)}; needed is {needed}"
    )


def _type(found: object) -> str:
    return type(found).__name__
