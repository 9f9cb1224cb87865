"""Identifies calls of the same tool, and pairs expected with actual calls."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.matching.arguments import frozen, is_directive, parameter_score, same_value
from turnwise.transforms.matching.assignment import best_assignment, equal_matches
from turnwise.transforms.text.subsequence import common_subsequence

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


def pair_calls(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[int | None]:
    """Pairs expected with actual calls of the same tool, preferring matching parameters, then order.

    Returns:
        For every expected call the index of its actual partner, or None.
    """
    if equal_calls(expected, actual):
        return [*range(len(expected))]
    return pair_unequal(expected, actual)


def pair_unequal(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[int | None]:
    """Pairs calls as `pair_calls` does, where not all are equal."""
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
    return len(expected) == len(actual) and same_value(_values(expected), _values(actual))


def _values(calls: Sequence[ToolCall]) -> JsonValue:
    return [[call.name, call.resource, call.args or None] for call in calls]


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
