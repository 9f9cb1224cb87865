"""tool_trajectory_avg_score: were the expected tools called, in the expected way."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from pydantic import Field, field_validator

from schemas.conversation import ToolCall
from schemas.score import Score
from schemas.values import JsonObject, JsonValue
from transforms.arguments import ArgumentMatcher, arguments_match
from transforms.assignment import count_matches
from transforms.conversation_case import EXTRA_TURN, ConversationCase, TurnPair
from transforms.criteria.base import Criterion, turn_mismatch

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "SUPERSET", "SUBSET")
CallTest = Callable[[ToolCall, ToolCall], bool]


class ToolTrajectory(Criterion):
    """1.0 if a turn's tool calls are the expected ones, else 0.0; partial credit stands in the details.

    Attributes:
        match_type: EXACT (the same calls in the same order), IN_ORDER (the expected ones in order, others
            between them allowed), ANY_ORDER or SUPERSET (all expected ones, others allowed) or SUBSET (none
            but expected ones). google-adk's numbers 0, 1, 2 and spellings such as `in-order` are understood.
        ignore_args: Compare only the names of the tools.
        argument_matchers: Tool (or `*`) -> parameter -> how it is compared.
    """

    name: ClassVar[str] = "tool_trajectory_avg_score"

    threshold: float | None = 1.0
    match_type: str = "EXACT"
    ignore_args: bool = False
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    include_intermediate_responses_in_final: bool = False

    @field_validator("match_type", mode="before")
    @classmethod
    def _known_match_type(cls, value: JsonValue) -> str:
        if isinstance(value, int | float) and value in (0, 1, 2):
            return MATCH_TYPES[int(value)]
        text = str(value).strip().upper().replace("-", "_").replace(" ", "_")
        if text not in MATCH_TYPES:
            raise ValueError(f"{value!r} is none of {', '.join(MATCH_TYPES)}")
        return text

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Compares the calls of a recorded turn with those of its golden turn."""
        expected = pair.expected.tool_calls if pair.expected else None
        if expected is None and pair.label != EXTRA_TURN:
            return None
        if pair.actual is None or expected is None:
            return turn_mismatch(pair)
        return self._compare(expected, pair.actual.tool_calls)

    def score_conversation(self, case: ConversationCase) -> Score | None:
        """Compares all calls of the conversation, where the case states only those of the whole."""
        if case.case is None or case.case.actions is None:
            return None
        made = [call for turn in case.conversation.turns for call in turn.tool_calls]
        return self._compare(case.case.actions, made)

    def _compare(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> Score:
        same = partial(same_call, ignore_args=self.ignore_args, matchers=self.argument_matchers)
        if len(expected) == len(actual) and all(map(same, expected, actual)):
            return Score(1.0, details=credit(len(expected), len(expected), len(actual)))
        partners = count_matches(expected, actual, same)
        value = _MATCHED[self.match_type](expected, actual, same, partners)
        matched = len(expected) - partners.count(None)
        details = credit(matched, len(expected), len(actual)) | _differences(expected, actual, partners)
        return Score(float(value), details=details)


def same_call(
    expected: ToolCall,
    actual: ToolCall,
    *,
    ignore_args: bool = False,
    matchers: Mapping[str, Mapping[str, ArgumentMatcher]] | None = None,
) -> bool:
    """Tells whether two calls name the same tool and, unless ignored, have matching arguments."""
    if expected.name != actual.name:
        return False
    if ignore_args or expected.args == actual.args:
        return True
    rules: Mapping[str, ArgumentMatcher] = {}
    if matchers:
        rules = {**matchers.get("*", {}), **matchers.get(expected.name or "", {})}
    return arguments_match(expected.args, actual.args, rules)


def credit(matched: int, expected: int, actual: int) -> JsonObject:
    """Returns precision, recall and F1 of `matched` calls; a side without calls has nothing wrong (1.0)."""
    precision = matched / actual if actual else 1.0
    recall = matched / expected if expected else 1.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {
        "matched": matched,
        "expected": expected,
        "actual": actual,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }


def _differences(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], partners: list[int | None]
) -> JsonObject:
    used = set(partners)
    missing = [call.name for call, partner in zip(expected, partners, strict=True) if partner is None]
    return {"missing": missing, "extra": [call.name for j, call in enumerate(actual) if j not in used]}


def _in_order(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], same: CallTest, _: list[int | None]
) -> bool:
    rest = iter(actual)
    return all(any(same(want, call) for call in rest) for want in expected)


def _all_expected(
    _e: Sequence[ToolCall], _a: Sequence[ToolCall], _s: CallTest, partners: list[int | None]
) -> bool:
    return None not in partners


def _only_expected(
    _e: Sequence[ToolCall], actual: Sequence[ToolCall], _s: CallTest, partners: list[int | None]
) -> bool:
    return len(partners) - partners.count(None) == len(actual)


def _never(_e: Sequence[ToolCall], _a: Sequence[ToolCall], _s: CallTest, _p: list[int | None]) -> bool:
    return False


_MATCHED: Mapping[
    str, Callable[[Sequence[ToolCall], Sequence[ToolCall], CallTest, list[int | None]], bool]
] = {
    "EXACT": _never,
    "IN_ORDER": _in_order,
    "ANY_ORDER": _all_expected,
    "SUPERSET": _all_expected,
    "SUBSET": _only_expected,
}
