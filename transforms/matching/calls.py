"""Identifies calls of the same tool, and pairs expected with actual calls."""

import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Outcome
from turnwise.transforms.matching.alignment import best_assignment, equal_matches
from turnwise.transforms.text.patterns import check_pattern, pattern_found
from turnwise.transforms.text.rouge import common_subsequence

_MOST_PAIRS = 40_000
_FEW = 8
"""Calls of one tool that are compared all with all in less time than it takes to look for equal ones."""


def tool_identity(call: ToolCall | ToolResponse) -> str:
    """Returns what identifies a tool: its resource name, or else its name."""
    return call.resource or call.name or ""


def same_tool(left: ToolCall | ToolResponse, right: ToolCall | ToolResponse) -> bool:
    """Returns whether two calls are of one tool; resource names are compared where both sides have one."""
    if left.resource and right.resource:
        return left.resource == right.resource
    return left.name == right.name


def call_key(call: ToolCall) -> Hashable:
    """Returns what is equal for calls of one tool with equal arguments."""
    return tool_identity(call), frozen(call.args or None)


class PairedCalls:
    """Expected and made calls, paired once: of the same tool, preferring matching parameters, then order.

    Attributes:
        expected: The expected calls.
        made: The calls that were made.
        are_equal: Whether they are equal one by one, in order; False where only one has a resource.
    """

    __slots__ = ("_partners", "are_equal", "expected", "made")

    def __init__(self, expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> None:
        self.expected, self.made = expected, made
        self.are_equal = equal_calls(expected, made)
        self._partners: list[int | None] | None = None

    @property
    def partners(self) -> list[int | None]:
        """For every expected call the index of its partner among those made, or None."""
        if self._partners is None:
            equal: list[int | None] = [*range(len(self.expected))]
            self._partners = equal if self.are_equal else _pair_unequal(self.expected, self.made)
        return self._partners


def _pair_unequal(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[int | None]:
    partners: list[int | None] = [None] * len(expected)
    has_resources = any([call.resource for call in (*expected, *actual)])
    actual_places = _places(actual, has_resources)
    for name, rows in _places(expected, has_resources).items():
        columns = actual_places.get(name)
        if columns is not None:
            found = _pair_group([expected[i] for i in rows], [actual[j] for j in columns])
            for i, column in zip(rows, found, strict=True):
                partners[i] = None if column is None else columns[column]
    return partners


def equal_calls(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> bool:
    """Returns whether the calls are equal one by one, in order; False where only one has a resource."""
    if len(expected) != len(actual):
        return False
    for want, made in zip(expected, actual, strict=True):
        if want.name != made.name or want.resource != made.resource:
            return False
        if want.args != made.args and (want.args or made.args):
            return False
    # true and 1 are equal to Python
    return _same_kinds_of_equal([want.args for want in expected], [made.args for made in actual])


def _places(calls: Sequence[ToolCall], has_resources: bool) -> dict[str | None, list[int]]:
    """Returns the places of the calls by their name; all together where a name does not identify a tool."""
    places: dict[str | None, list[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault(None if has_resources else call.name, []).append(place)
    return places


def _pair_group(expected: list[ToolCall], actual: list[ToolCall]) -> list[int | None]:
    if len(expected) == len(actual) == 1:
        return [0 if same_tool(expected[0], actual[0]) else None]
    if equal_calls(expected, actual):
        return [*range(len(expected))]
    if len(expected) > _FEW and (partners := _equal_partners(expected, actual)):
        return partners
    if len(expected) * len(actual) > _MOST_PAIRS:
        return _equal_then_in_order(expected, actual)
    return best_assignment([[_pair_weight(want, made) for made in actual] for want in expected])


def _equal_partners(expected: list[ToolCall], actual: list[ToolCall]) -> list[int | None] | None:
    """Returns the partners of calls that have one equal call each, and of which no other can be as good.

    It is what the assignment of all to all finds, at a cost that grows with the number of calls.
    """
    shapes = {(not call.resource, frozenset(call.args or ())) for call in (*expected, *actual)}
    if len(shapes) > 1 or not expected[0].args:
        return None
    wanted, made = list(map(call_key, expected)), list(map(call_key, actual))
    if len({*made}) < len(made) or len({*wanted}) < len(wanted) or not {*wanted} <= {*made}:
        return None
    partners = equal_matches(wanted, made)
    pairs = [(want.args, actual[j].args) for want, j in zip(expected, partners, strict=True) if j is not None]
    is_plain = not any(is_directive(value) for args, _ in pairs for value in (args or {}).values())
    return partners if is_plain and all(same_value(*pair) for pair in pairs) else None


def _equal_then_in_order(expected: list[ToolCall], actual: list[ToolCall]) -> list[int | None]:
    """Pairs hundreds of calls of one tool without comparing all with all, which would take minutes."""
    partners = equal_matches(list(map(call_key, expected)), list(map(call_key, actual)))
    used = set(partners)
    left = [j for j in range(len(actual)) if j not in used]
    for i in (i for i, partner in enumerate(partners) if partner is None):
        partner = next((j for j in left if same_tool(expected[i], actual[j])), None)
        if partner is not None:
            partners[i] = partner
            left.remove(partner)
    return partners


def _pair_weight(expected: ToolCall, actual: ToolCall) -> float:
    if not same_tool(expected, actual):
        return 0.0
    score = parameter_score(expected.args, actual.args)
    return 1.0 + ((score.matched + score.undecided / 2) / score.total if score.total else 1.0)


def ordered_share(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> float:
    """Returns the longest common subsequence of tools over the number of expected calls, 0..1."""
    if len(expected) == len(actual) and all(map(same_tool, expected, actual)):
        return 1.0
    return common_subsequence(_same_tools(expected, actual), len(expected)) / len(expected)


def _same_tools(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> Iterator[int]:
    """Yields for every actual call a bit mask of the expected calls of the same tool."""
    by_name: defaultdict[str | None, int] = defaultdict(int)
    without_resource: defaultdict[str | None, int] = defaultdict(int)
    by_resource: defaultdict[str, int] = defaultdict(int)
    for place, want in enumerate(expected):
        by_name[want.name] |= 1 << place
        if want.resource:
            by_resource[want.resource] |= 1 << place
        else:
            without_resource[want.name] |= 1 << place
    for call in actual:
        if call.resource:
            yield by_resource.get(call.resource, 0) | without_resource.get(call.name, 0)
        else:
            yield by_name.get(call.name, 0)


# Pairs tool responses with calls.


def pair_responses(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[ToolResponse | None]:
    """Pairs every call with its response; no response is used twice.

    Three rounds: by id where that id occurs once among the calls and once among the responses; then, in
    order, the first free response of the same name; then, in order, what is left where the call or the
    response has no name.

    Returns:
        One entry per call; None: it has no response.
    """
    if not responses:
        return [None] * len(calls)
    if len(calls) == len(responses):
        for call, response in zip(calls, responses, strict=True):
            if call.id != response.id or call.name != response.name:
                break
        else:
            return list(responses)
    partners = _by_unique_id(calls, responses)
    _add_same_names(calls, responses, partners)
    _add_nameless(calls, responses, partners)
    return [responses[partners[i]] if i in partners else None for i in range(len(calls))]


def answered_calls(turn: Turn) -> Iterable[tuple[ToolCall, ToolResponse | None]]:
    """Returns the agent's calls of a turn with their responses."""
    return zip(turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True)


def _add_same_names(
    calls: Sequence[ToolCall], responses: Sequence[ToolResponse], partners: dict[int, int]
) -> None:
    used = set(partners.values())
    free: dict[str, deque[int]] = {}
    for place, response in enumerate(responses):
        if response.name and place not in used:
            free.setdefault(response.name, deque()).append(place)
    for i, call in enumerate(calls):
        if i not in partners and call.name and free.get(call.name):
            partners[i] = free[call.name].popleft()


def _add_nameless(
    calls: Sequence[ToolCall], responses: Sequence[ToolResponse], partners: dict[int, int]
) -> None:
    used = set(partners.values())
    free = deque(place for place in range(len(responses)) if place not in used)
    nameless = deque(place for place in free if not responses[place].name)
    for i, call in enumerate(calls):
        if i not in partners:
            left = nameless if call.name else free
            while left and left[0] in used:
                left.popleft()
            if left:
                partners[i] = left.popleft()
                used.add(partners[i])


def without_call(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[ToolResponse]:
    """Returns the responses of a turn whose call is not in it.

    Those that are left over, and, where every call has an id, those whose id no call has.
    """
    if not responses or (len(responses) == len(calls) and all(map(_stands_beside, calls, responses))):
        return []
    used = {id(response) for response in pair_responses(calls, responses)}
    ids = {call.id for call in calls}
    are_named = None not in ids
    return [
        response
        for response in responses
        if id(response) not in used or (are_named and response.id and response.id not in ids)
    ]


def _by_unique_id(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> dict[int, int]:
    call_counts = Counter(call.id for call in calls)
    response_counts = Counter(response.id for response in responses)
    places = {response.id: i for i, response in enumerate(responses)}
    return {
        i: places[call.id]
        for i, call in enumerate(calls)
        if call.id and call_counts[call.id] == 1 and response_counts[call.id] == 1
    }


def _stands_beside(call: ToolCall, response: ToolResponse) -> bool:
    return call.id == response.id and (call.id is not None or call.name == response.name)


# Compares arguments of tool calls: exactly, by a matcher of the config, or by a directive of the case.

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
    return bool(expected == actual) and _same_kinds_of_equal(expected, actual)


def _same_kinds_of_equal(expected: JsonValue, actual: JsonValue) -> bool:
    # Most equal values are equal as JSON, which costs less than to look at every part.
    if type(expected) in (dict, list):
        try:
            if orjson.dumps(expected) == orjson.dumps(actual):
                return True
        except TypeError:  # integers of more than 64 bits
            pass
    return _same_kinds(expected, actual)


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


def check_directives(arguments: JsonObject, holder: str) -> None:
    """Raises ValueError for a directive of an unknown type, and for a `regexp` without a right pattern.

    Args:
        arguments: Names and values.
        holder: What has these arguments, for the message.
    """
    for name, value in arguments.items():
        if is_directive(value):
            try:
                _check_directive(value)
            except ValueError as error:
                raise ValueError(f"{name} of {holder}: {error}") from None


def _check_directive(value: JsonObject) -> None:
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
    are_ignored = all(
        name in wanted or (name in matchers and matchers[name].match == "ignore") for name in given
    )
    if False in verdicts or not are_ignored:
        return False
    return None if None in verdicts else True


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
