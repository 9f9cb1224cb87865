"""Compares arguments of tool calls: exactly, by a matcher of the config, or by a directive of the case."""

import json
import math
from collections.abc import Hashable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from turnwise.schemas.jsonio import JsonObject, JsonValue, same_json
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Outcome
from turnwise.transforms.text.patterns import check_pattern, pattern_found

_LONGEST_TYPE = 100
_DIRECTIVES = ("semantic", "ignore", "contains", "regexp", "exact")
"""Types of directives; CES compares exactly by any other type than the first four."""


class ArgumentMatcher(BaseModel):
    """Comparison of one parameter.

    Attributes:
        match: `exact` (Python's `==` on JSON values), `ignore`, `contains` (the expected text is part of
            the actual one), `regexp` (the pattern is found in the actual text) or `number` (equal within
            the tolerances; numeric texts count as numbers).
        pattern: The regular expression, in RE2's syntax; None: the expected value is the pattern.
        tolerance: Largest absolute difference of `number`, 0 or more.
        relative_tolerance: Largest difference of `number` relative to the larger of the two, 0 or more.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    match: Literal["exact", "ignore", "contains", "regexp", "number"] = "exact"
    pattern: str | None = None
    tolerance: float = Field(default=0.0, ge=0, strict=True)
    relative_tolerance: float = Field(default=0.0, ge=0, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"match": value} if isinstance(value, str) else value

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        if value is not None:
            check_pattern(value)
        return value

    def matches(self, expected: JsonValue, actual: JsonValue) -> bool:
        """Returns whether an actual value is as good as the expected one."""
        if self.match == "ignore":
            return True
        if self.match == "contains":
            return contains(expected, actual)
        if self.match == "regexp":
            return found(expected if self.pattern is None else self.pattern, actual)
        if self.match == "number":
            return self._close(expected, actual)
        return bool(expected == actual)

    def _close(self, expected: JsonValue, actual: JsonValue) -> bool:
        left, right = _number(expected), _number(actual)
        if left is None or right is None:
            return bool(expected == actual)
        return math.isclose(left, right, rel_tol=self.relative_tolerance, abs_tol=self.tolerance)


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def contains(expected: JsonValue, actual: JsonValue) -> bool:
    """Returns whether an actual text or list contains the expected value."""
    if isinstance(actual, list):
        return expected in actual
    return plain_text(expected) in plain_text(actual)


def plain_text(value: JsonValue) -> str:
    """Returns a text as it is, and any other value as JSON, whole numbers without a fraction."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def same_value(expected: JsonValue, actual: JsonValue) -> bool:
    """Compares two values of a Struct: numbers by value, and true and false are no numbers."""
    if expected != actual:
        return False
    # Most equal values are equal as JSON, which costs less than to look at every part.
    has_parts = type(expected) in (dict, list)
    return (has_parts and same_json(expected, actual)) or _same_kinds(expected, actual)


def _same_kinds(expected: JsonValue, actual: JsonValue) -> bool:
    """Returns whether equal values hold true and false at the same places."""
    kind = type(expected)
    if kind is dict:
        return all(_same_kinds(value, actual[key]) for key, value in expected.items())
    if kind is list:
        return all(map(_same_kinds, expected, actual))
    return kind is type(actual) or not (kind is bool or type(actual) is bool)


def found(pattern: JsonValue, actual: JsonValue) -> bool:
    """Returns whether a regular expression is found in a value's text; a wrong one raises ValueError."""
    return pattern_found(plain_text(pattern), plain_text(actual))


def is_directive(value: JsonValue) -> bool:
    """Returns whether an expected value is a CES match directive (`{"$matchType": ...}`)."""
    return isinstance(value, dict) and "$matchType" in value


def directive_text(directive: JsonObject) -> str:
    """Returns the expected value of a directive as text."""
    return plain_text(directive.get("$matchValue", directive.get("value")))


def frozen(value: JsonValue) -> Hashable:
    """Returns a hashable value that equals another one exactly where the JSON values are equal."""
    if isinstance(value, dict):
        return frozenset((key, frozen(item)) for key, item in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def check_directives(arguments: JsonObject) -> None:
    """Raises ValueError for a directive of an unknown type, and for a `regexp` without a right pattern."""
    for value in arguments.values():
        if not is_directive(value):
            continue
        _check_type(value["$matchType"])
        if value["$matchType"] == "regexp":
            pattern = value.get("$matchValue", value.get("value"))
            if not isinstance(pattern, str):
                raise ValueError("a regexp directive needs its pattern under $matchValue")
            check_pattern(pattern)


def _check_type(kind: JsonValue) -> None:
    if kind in _DIRECTIVES:
        return
    near = get_close_matches(str(kind).lower(), _DIRECTIVES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the types are {', '.join(_DIRECTIVES)}"
    raise ValueError(f"$matchType: {str(kind)[:_LONGEST_TYPE]!r} is no type of a directive ({hint})")


def value_matches(expected: JsonValue, actual: JsonValue) -> bool | None:
    """Compares one value of a CES case with an observed one.

    Args:
        expected: A plain value, or a directive of type `semantic`, `ignore`, `contains`, `regexp` or `exact`;
            an unknown type, which eval cases are refused for, counts as `exact`.
        actual: The observed value.

    Returns:
        Whether they match; None if only a judge can decide (a `semantic` directive whose wording differs).
    """
    if not is_directive(expected):
        return same_value(expected, actual)
    wanted = expected.get("$matchValue", expected.get("value"))
    kind = expected["$matchType"]
    if kind == "ignore":
        return True
    if kind == "contains":
        return contains(wanted, actual)
    if kind == "regexp":
        return found(wanted, actual)
    if kind == "semantic":
        return True if actual in (wanted, expected.get("$originalValue")) else None
    return same_value(wanted, actual)


def arguments_match(
    expected: JsonObject | None, actual: JsonObject | None, matchers: Mapping[str, ArgumentMatcher]
) -> bool | None:
    """Compares two argument objects as google-adk does, unless a matcher or a directive says otherwise.

    Python's `==` on JSON values: `1 == 1.0 == True`. Unlike there, no arguments, null and `{}` are one thing.

    Returns:
        Whether they match; None if only a judge can decide.
    """
    wanted, given = expected or {}, actual or {}
    if wanted == given:
        return True
    if not matchers and not any(map(is_directive, wanted.values())):
        return False
    verdicts = [_one_matches(name, value, given, matchers) for name, value in wanted.items()]
    extra = {name: value for name, value in given.items() if name not in wanted}
    if False in verdicts or not _only_ignored(extra, matchers):
        return False
    return None if None in verdicts else True


def _only_ignored(arguments: JsonObject, matchers: Mapping[str, ArgumentMatcher]) -> bool:
    return all(name in matchers and matchers[name].match == "ignore" for name in arguments)


def _one_matches(
    name: str, wanted: JsonValue, given: JsonObject, matchers: Mapping[str, ArgumentMatcher]
) -> bool | None:
    matcher = matchers.get(name)
    if matcher is not None and matcher.match == "ignore":
        return True
    if name not in given:
        return is_directive(wanted) and wanted["$matchType"] == "ignore"
    return matcher.matches(wanted, given[name]) if matcher else value_matches(wanted, given[name])


class ParameterScore(NamedTuple):
    """Share of an expected call's parameters that an actual call has.

    Attributes:
        matched: Parameters with the same name and a matching value.
        total: Parameters that count (ignored ones do not).
        undecided: Parameters that only a judge can compare.
        wrong: Names of parameters that are missing or differ.
    """

    matched: int
    total: int
    undecided: int = 0
    wrong: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """`matched / total`, 0..1; 1 without parameters; None while something is undecided."""
        if self.undecided:
            return None
        return self.matched / self.total if self.total else 1.0


def reaches(value: float, threshold: float) -> bool:
    """Returns whether a share passes a CES gate; the API's scores and thresholds are float32."""
    return value >= threshold or float32(value) >= float32(threshold)


@lru_cache(maxsize=1024)
def met_parameters(count: int, threshold: float) -> tuple[ParameterScore, Outcome | None]:
    """Returns the score of a call whose parameters all match, and its outcome."""
    score = ParameterScore(count, count)
    return score, parameter_outcome(score, threshold)


def parameter_score(expected: JsonObject | None, actual: JsonObject | None) -> ParameterScore:
    """Scores an actual call's parameters by the rules of CES's parameterCorrectnessScore.

    The share of the parameters of the expected call that the actual call has with a matching value;
    parameters only in the actual call do not matter; an ignored parameter leaves the denominator.
    """
    wanted, given = expected or {}, actual or {}
    if same_value(wanted, given):
        return ParameterScore(len(wanted), len(wanted))
    matched = total = undecided = 0
    wrong: list[str] = []
    for name, value in wanted.items():
        if is_directive(value) and value["$matchType"] == "ignore":
            continue
        total += 1
        verdict = value_matches(value, given[name]) if name in given else False
        if verdict is None:
            undecided += 1
        elif verdict:
            matched += 1
        else:
            wrong.append(name)
    return ParameterScore(matched, total, undecided, tuple(wrong))


def parameter_outcome(score: ParameterScore, threshold: float) -> Outcome | None:
    """Compares a parameter score with its threshold; None: undecided parameters may change the outcome."""
    total = score.total or 1
    if not score.total or reaches(score.matched / total, threshold):
        return "PASS"
    return None if reaches((score.matched + score.undecided) / total, threshold) else "FAIL"
