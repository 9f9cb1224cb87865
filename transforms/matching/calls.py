"""Identifies calls of the same tool, and pairs expected with actual calls."""

import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Literal

from msgspec import Struct
from pydantic import AfterValidator, Field, model_validator

from turnwise.schemas.conversation import ExpectedTurn, Settings, TimedSpan, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, did_you_mean
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Outcome
from turnwise.transforms.matching.alignment import best_assignment, equal_matches
from turnwise.transforms.text.patterns import checked_pattern, pattern_found
from turnwise.transforms.text.rouge import common_subsequence

_MOST_PAIRS = 40_000
_FEW = 8
"""Calls of one tool that are compared all with all in less time than it takes to look for equal ones."""


def tool_identity(call: ToolCall | ToolResponse | TimedSpan) -> str:
    """Returns what identifies a tool: its resource name, or else its name."""
    return call.resource or call.name or ""


def same_tool(left: ToolCall | ToolResponse, right: ToolCall | ToolResponse) -> bool:
    """Returns whether two calls are of one tool; resource names are compared where both sides have one."""
    if left.resource and right.resource:
        return left.resource == right.resource
    return left.name == right.name


def held_calls(calls: Sequence[ToolCall], expected: Iterable[ToolCall]) -> Sequence[ToolCall]:
    """Returns the calls that the expected ones are held against.

    They are those of the conversation's own agents. What an agent called that was itself called as a tool
    counts only where the expected calls name a tool that no other agent called.
    """
    if not any([call.inside for call in calls]):
        return calls
    held = [call for call in calls if call.inside is None]
    inner = {call.name for call in calls}.difference(call.name for call in held)
    return calls if any(call.name in inner for call in expected) else held


def call_key(call: ToolCall) -> Hashable:
    """Returns what is equal for calls of one tool with equal arguments."""
    return tool_identity(call), frozen(call.args or None)


class PairedCalls:
    """Expected and made calls, paired once: of the same tool, preferring matching parameters, then order."""

    __slots__ = ("_partners", "are_equal", "expected", "made")

    def __init__(self, expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> None:
        self.expected, self.made = expected, made
        self.are_equal = equal_calls(expected, made)
        self._partners: list[int | None] | None = None

    @property
    def partners(self) -> list[int | None]:
        """For every expected call the index of its partner among those made, or None."""
        expected, made, partners = self.expected, self.made, self._partners
        if partners is not None:
            return partners
        if self.are_equal:
            self._partners = partners = [*range(len(expected))]
            return partners
        # Only where no call has a resource does the name identify a tool.
        has_resources = False
        columns_of: dict[str | None, list[int]] = {}
        rows_of: dict[str | None, list[int]] = {}
        for indexes, calls in ((columns_of, made), (rows_of, expected)):
            for index, call in enumerate(calls):
                has_resources = has_resources or bool(call.resource)
                indexes.setdefault(call.name, []).append(index)
        if has_resources:
            rows_of, columns_of = {None: [*range(len(expected))]}, {None: [*range(len(made))]}
        self._partners = partners = [None] * len(expected)
        for tool, rows in rows_of.items():
            columns = columns_of.get(tool, ())
            if len(rows) == len(columns) == 1 and not has_resources:
                partners[rows[0]] = columns[0]
            elif columns:
                pairs = _pair_group([expected[i] for i in rows], [made[j] for j in columns])
                for i, column in zip(rows, pairs, strict=True):
                    partners[i] = None if column is None else columns[column]
        return partners


def paired_calls(expected: ExpectedTurn, actual: Turn | None) -> PairedCalls:
    """Returns the calls that a golden turn expects, but for skipped ones, paired with those made."""
    made = actual.tool_calls if actual is not None else []
    wanted = expected.tool_calls or []
    if expected.expectations:
        wanted = [e.tool_call for e in expected.expectations if e.tool_call is not None and not e.skip]
    paired = PairedCalls(wanted, made)
    if not paired.are_equal and (held := held_calls(made, wanted)) is not made:
        return PairedCalls(wanted, held)
    return paired


def equal_calls(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> bool:
    """Returns whether the calls are equal one by one, in order; False where only one has a resource."""
    if len(expected) != len(actual):
        return False
    for index, want in enumerate(expected):
        made = actual[index]
        if want.name != made.name or want.resource != made.resource:
            return False
        if want.args != made.args:
            if want.args or made.args:
                return False
        elif not _same_kinds(want.args, made.args):
            return False
    return True


def _pair_group(expected: list[ToolCall], actual: list[ToolCall]) -> list[int | None]:
    if equal_calls(expected, actual):
        return [*range(len(expected))]
    if len(expected) > _FEW and (partners := _equal_partners(expected, actual)):
        return partners
    if len(expected) * len(actual) > _MOST_PAIRS:
        # To compare all with all would take minutes: equal ones first, then the others in order.
        pairs = equal_matches(list(map(call_key, expected)), list(map(call_key, actual)))
        used = set(pairs)
        left = [j for j in range(len(actual)) if j not in used]
        for i in (i for i, partner in enumerate(pairs) if partner is None):
            partner = next((j for j in left if same_tool(expected[i], actual[j])), None)
            if partner is not None:
                pairs[i] = partner
                left.remove(partner)
        return pairs
    weights = []
    for want in expected:
        weights.append([0.0] * len(actual))
        for j, made in enumerate(actual):
            if same_tool(want, made):
                score = parameter_score(want.args, made.args)
                share = (score.matched + score.unclear / 2) / score.total if score.total else 1.0
                weights[-1][j] = 1.0 + share
    return best_assignment(weights)


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


def ordered_share(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> float:
    """Returns the longest common subsequence of tools over the number of expected calls, 0..1."""
    # Bit masks of the expected calls, by what `same_tool` compares.
    of_name: dict[str | None, int] = {}
    of_resource: dict[str, int] = {}
    with_resource = 0
    for index, want in enumerate(expected):
        bit = 1 << index
        of_name[want.name] = of_name.get(want.name, 0) | bit
        if want.resource:
            with_resource |= bit
            of_resource[want.resource] = of_resource.get(want.resource, 0) | bit
    places: list[int] = []
    for call in actual:
        mask = of_name.get(call.name, 0)
        if call.resource:
            mask = mask & ~with_resource | of_resource.get(call.resource, 0)
        places.append(mask)
    return common_subsequence(places, len(expected)) / len(expected)


def pair_responses(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[ToolResponse | None]:
    """Returns the response of every call, each used once; None: it has none.

    Four rounds: by id where that id occurs once among the calls and once among the responses; then, in
    order, the first free response of the same name; then of the same id, calls of inner agents last; then, in
    order, what is left where the call or the response has no name.
    """
    if not responses:
        return [None] * len(calls)
    if len(calls) == len(responses):
        for index, call in enumerate(calls):
            response = responses[index]
            if call.id != response.id or call.name != response.name:
                break
        else:
            return list(responses)
    call_counts = Counter(call.id for call in calls)
    response_counts = Counter(response.id for response in responses)
    by_id = {response.id: j for j, response in enumerate(responses)}
    partners: list[int | None] = [
        by_id[call.id] if call.id and call_counts[call.id] == response_counts[call.id] == 1 else None
        for call in calls
    ]
    used = set(partners)
    by_name: defaultdict[str, deque[int]] = defaultdict(deque)
    for j, response in enumerate(responses):
        if response.name and j not in used:
            by_name[response.name].append(j)
    for i, call in enumerate(calls):
        if partners[i] is None and call.name and by_name.get(call.name):
            partners[i] = by_name[call.name].popleft()
            used.add(partners[i])
    of_id: defaultdict[str, deque[int]] = defaultdict(deque)
    for j, response in enumerate(responses):
        if response.id and j not in used:
            of_id[response.id].append(j)
    for i in sorted(range(len(calls)), key=lambda i: calls[i].inside is not None) if of_id else ():
        if partners[i] is None and (queue := of_id.get(calls[i].id or "")):
            partners[i] = queue.popleft()
            used.add(partners[i])
    free = deque(j for j in range(len(responses)) if j not in used)
    nameless = deque(j for j in free if not responses[j].name)
    for i, call in enumerate(calls):
        left = nameless if call.name else free
        while partners[i] is None and left:
            j = left.popleft()
            if j not in used:
                partners[i] = j
                used.add(j)
    return [None if j is None else responses[j] for j in partners]


def answered_calls(turn: Turn) -> Iterable[tuple[ToolCall, ToolResponse | None]]:
    """Returns the agent's calls of a turn with their responses."""
    return zip(turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True)


def without_call(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[ToolResponse]:
    """Returns the responses of a turn whose call is not in it.

    Those that are left over, and, where every call has an id, those whose id no call has.
    """
    used = {id(response) for response in pair_responses(calls, responses)}
    ids = {call.id for call in calls}
    are_named = None not in ids
    return [
        response
        for response in responses
        if id(response) not in used or (are_named and response.id and response.id not in ids)
    ]


# Compares arguments of tool calls: exactly, by a matcher of the config, or by a directive of the case.

_LONGEST_TYPE = 100
_DIRECTIVES = ("semantic", "ignore", "contains", "regexp", "exact")
"""Types of directives; CES compares exactly by any other type than the first four."""


class ArgumentMatcher(Settings):
    """Comparison of one parameter.

    Attributes:
        match: `exact` (Python's `==` on JSON values), `ignore`, `contains` (the expected text is part of
            the actual one), `regexp` (the pattern is found in the actual text) or `number` (equal within
            the tolerances; numeric texts count as numbers).
        pattern: The regular expression, in RE2's syntax; None: the expected value is the pattern.
        tolerance: Largest absolute difference of `number`, 0 or more.
        relative_tolerance: Largest difference of `number` relative to the larger of the two, 0 or more.
    """

    match: Literal["exact", "ignore", "contains", "regexp", "number"] = "exact"
    pattern: Annotated[str, AfterValidator(checked_pattern)] | None = None
    tolerance: float = Field(default=0.0, ge=0, strict=True)
    relative_tolerance: float = Field(default=0.0, ge=0, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"match": value} if isinstance(value, str) else value

    def matches(self, expected: JsonValue, actual: JsonValue) -> bool:
        """Returns whether an actual value is as good as the expected one."""
        has_pattern = self.match == "regexp" and self.pattern is not None
        met = _met(self.match, self.pattern if has_pattern else expected, actual)
        if met is not None:
            return met
        is_number = not any(
            isinstance(v, bool) or not isinstance(v, int | float | str) for v in (expected, actual)
        )
        if self.match == "number" and is_number:
            with suppress(ValueError, OverflowError):
                sides = float(expected), float(actual)
                return math.isclose(*sides, rel_tol=self.relative_tolerance, abs_tol=self.tolerance)
        return bool(expected == actual)


def _met(kind: str, expected: JsonValue, actual: JsonValue) -> bool | None:
    """Compares by a kind that matchers and directives share; None: it is another one."""
    if kind == "contains":
        return expected in actual if isinstance(actual, list) else plain_text(expected) in plain_text(actual)
    if kind == "regexp":
        return pattern_found(plain_text(expected), plain_text(actual))
    return True if kind == "ignore" else None


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
    return _same_kinds(expected, actual)


def _same_kinds(expected: JsonValue, actual: JsonValue) -> bool:
    """Returns whether equal values hold true and false at the same places: to Python, true is equal to 1."""
    kind = type(expected)
    if kind is dict:
        for key, value in expected.items():
            other = actual[key]
            if value is not other and type(value) is not str and not _same_kinds(value, other):
                return False
        return True
    if kind is list:
        return all(map(_same_kinds, expected, actual))
    return kind is type(actual) or not (kind is bool or type(actual) is bool)


def is_directive(value: JsonValue) -> bool:
    """Returns whether an expected value is a CES match directive (`{"$matchType": ...}`)."""
    return isinstance(value, dict) and "$matchType" in value


def directive_text(directive: JsonObject) -> str:
    """Returns the expected value of a directive as text."""
    return plain_text(directive.get("$matchValue", directive.get("value")))


_MATCHERS = {"contains": "contains", "regexp": "matches the pattern", "semantic": "means", "exact": "exactly"}


def matcher_text(directive: JsonObject) -> str:
    """Returns a directive in words, such as `contains brake`."""
    kind = str(directive["$matchType"])
    return "anything" if kind == "ignore" else f"{_MATCHERS.get(kind, kind)} {directive_text(directive)}"


def frozen(value: JsonValue) -> Hashable:
    """Returns a hashable value that equals another one exactly where the JSON values are equal."""
    if isinstance(value, dict):
        return frozenset((key, frozen(item)) for key, item in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def check_directives(arguments: JsonObject, holder: str) -> None:
    """Raises ValueError for an unknown type of a directive of `holder`, or a wrong `regexp` pattern."""
    for name, value in arguments.items():
        if not is_directive(value):
            continue
        kind = value["$matchType"]
        try:
            if kind not in _DIRECTIVES:
                types = f" (the types are {', '.join(_DIRECTIVES)})"
                hint = did_you_mean(str(kind).lower(), _DIRECTIVES) or types
                stated = repr(str(kind)[:_LONGEST_TYPE])
                raise ValueError(f"$matchType: {stated} is no type of a directive{hint}")
            if kind == "regexp":
                pattern = value.get("$matchValue", value.get("value"))
                if not isinstance(pattern, str):
                    raise ValueError("a regexp directive needs its pattern under $matchValue")
                checked_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{name} of {holder}: {error}") from None


def value_matches(expected: JsonValue, actual: JsonValue) -> bool | None:
    """Compares a plain value, or a directive, of a CES case with an observed value.

    An unknown type of a directive, which eval cases are refused for, counts as `exact`. None: only a judge
    can decide (a `semantic` directive whose wording differs).
    """
    if type(expected) is not dict or "$matchType" not in expected:
        return same_value(expected, actual)
    wanted, kind = expected.get("$matchValue", expected.get("value")), expected["$matchType"]
    if kind == "semantic":
        return True if actual in (wanted, expected.get("$originalValue")) else None
    met = _met(kind, wanted, actual)
    return same_value(wanted, actual) if met is None else met


def arguments_match(
    expected: JsonObject | None, actual: JsonObject | None, matchers: Mapping[str, ArgumentMatcher]
) -> bool | None:
    """Compares two argument objects as google-adk does, unless a matcher or a directive says otherwise.

    Python's `==` on JSON values: `1 == 1.0 == True`. Unlike there, no arguments, null and `{}` are one thing.
    None: only a judge can decide.
    """
    wanted, given = expected or {}, actual or {}
    if wanted == given:
        return True
    if not matchers and not any(map(is_directive, wanted.values())):
        return False
    verdicts: list[bool | None] = []
    ignored = {name for name, matcher in matchers.items() if matcher.match == "ignore"}
    for name, value in wanted.items():
        if name in ignored or name not in given:
            is_free = name in ignored or (is_directive(value) and value["$matchType"] == "ignore")
            verdicts.append(is_free)
        elif name in matchers:
            verdicts.append(matchers[name].matches(value, given[name]))
        else:
            verdicts.append(value_matches(value, given[name]))
    if False in verdicts or any(name not in wanted and name not in ignored for name in given):
        return False
    return None if None in verdicts else True


class ParameterScore(Struct, frozen=True):
    """How many of an expected call's parameters an actual call has."""

    matched: int  # with the same name and a matching value
    total: int  # of those that count (ignored ones do not)
    unclear: int = 0  # that only a judge can compare
    wrong: tuple[str, ...] = ()  # names of those that are missing or differ

    @property
    def value(self) -> float | None:
        """`matched / total`, 0..1; 1 without parameters; None while something is unclear."""
        if self.unclear:
            return None
        return self.matched / self.total if self.total else 1.0


def reaches(value: float, threshold: float) -> bool:
    """Returns whether a share passes a CES gate; the API's scores and thresholds are float32."""
    return value >= threshold or float32(value) >= float32(threshold)


def parameter_score(expected: JsonObject | None, actual: JsonObject | None) -> ParameterScore:
    """Scores an actual call's parameters by the rules of CES's parameterCorrectnessScore.

    The share of the parameters of the expected call that the actual call has with a matching value;
    parameters only in the actual call do not matter; an ignored parameter leaves the denominator.
    """
    wanted, given = expected or {}, actual or {}
    if same_value(wanted, given):
        return ParameterScore(len(wanted), len(wanted))
    matched = total = unclear = 0
    wrong: list[str] = []
    for name, value in wanted.items():
        kind = type(value)
        if kind is dict and value.get("$matchType") == "ignore":
            continue
        total += 1
        verdict: bool | None = False
        if name in given:
            made = given[name]
            is_plain = kind is type(made) and kind not in (dict, list)
            verdict = value == made if is_plain else value_matches(value, made)
        if verdict is None:
            unclear += 1
        elif verdict:
            matched += 1
        else:
            wrong.append(name)
    return ParameterScore(matched, total, unclear, tuple(wrong))


def parameter_outcome(score: ParameterScore, threshold: float) -> Outcome | None:
    """Compares a parameter score with its threshold; None: unclear parameters may change the outcome."""
    total = score.total
    if not total or score.matched / total >= threshold or reaches(score.matched / total, threshold):
        return "PASS"
    is_open = score.unclear and reaches((score.matched + score.unclear) / total, threshold)
    return None if is_open else "FAIL"
