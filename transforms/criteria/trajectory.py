"""tool_trajectory_avg_score: comparison of the tool calls with the expected calls."""

import operator
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import takewhile
from typing import TypeVar

from pydantic import Field, StrictBool, field_validator

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import ComparesTurns, calls_apart, calls_text, turn_mismatch
from turnwise.transforms.effects.failures import changed_nothing, has_failed
from turnwise.transforms.matching.alignment import count_matches, equal_matches
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    answered_calls,
    arguments_match,
    frozen,
    held_calls,
    is_directive,
)
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import EXTRA_TURN, Sample, TurnPair

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "SUPERSET", "SUBSET")
T = TypeVar("T")
_CallKey = tuple[str | None, JsonObject | None]


class ToolTrajectory(ComparesTurns):
    """1.0 if a turn's tool calls are the expected ones, else 0.0; partial credit is in the details.

    The details hold precision, recall and F1. A case that states only the calls of the whole conversation
    gets one score for the whole. A call that failed or changed nothing does not count if the same call
    succeeded in this or an earlier turn (`details.retried`), except against a case of google-adk.

    When to use: The agent must follow a script: the same calls, or certain calls in order.

    Attributes:
        match_type: EXACT (the same calls in the same order), IN_ORDER (the expected ones in order, others
            between them allowed), ANY_ORDER or SUPERSET (all expected ones, others allowed) or SUBSET (none
            but expected ones). google-adk's numbers 0, 1, 2 and spellings such as `in-order` are accepted.
        ignore_args: Compare only the names of the tools.
        argument_matchers: Tool (or `*`) -> parameter -> `exact`, `ignore`, `contains`, `regexp` (`pattern`)
            or `number` (`tolerance`, `relative_tolerance`).
        include_intermediate_responses_in_final: Accepted as in google-adk's config, without effect.
        adk_compat: Compare as google-adk does: no arguments differ from `{}`, a directive of CES is a value
            like any other, a call may lack its name, and a retry counts as a call.
    """

    name = "tool_trajectory_avg_score"
    needs = "expected calls"
    rests_on = ("calls",)
    turns_count = True
    needs_expected_calls = True

    threshold: float | None = 1.0
    match_type: str = "EXACT"
    ignore_args: StrictBool = False
    argument_matchers: dict[str, dict[str, ArgumentMatcher]] = Field(default_factory=dict)
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    @field_validator("match_type", mode="before")
    @classmethod
    def _known_match_type(cls, value: JsonValue) -> str:
        if isinstance(value, int | float) and value in (0, 1, 2):
            return MATCH_TYPES[int(value)]
        text = str(value).strip().upper().replace("-", "_").replace(" ", "_")
        if text not in MATCH_TYPES:
            raise ValueError(f"{value!r} is none of {', '.join(MATCH_TYPES)}")
        return text

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        golden = pair.expected
        expected = golden.tool_calls if golden else None
        if golden is not None and expected is None and self.adk_compat and golden.adk_reads:
            expected = []  # google-adk expects none where nothing is stated
        if expected is None and pair.label != EXTRA_TURN:
            return None
        if pair.actual is None or golden is None or expected is None:
            return turn_mismatch(pair)
        if not (self.adk_compat or golden.expectations) and sample.calls(pair).are_equal:
            return Score(1.0, details=credit(len(expected), len(expected), len(expected)))
        return self._compare_turns(sample, expected, [pair.actual])

    def score_conversation(self, sample: Sample) -> Score | None:
        if sample.eval_case is None or sample.eval_case.actions is None:
            return None
        return self._compare_turns(sample, sample.eval_case.actions, sample.conversation.turns)

    def _compare_turns(self, sample: Sample, expected: Sequence[ToolCall], turns: Sequence[Turn]) -> Score:
        made = held_calls([call for turn in turns for call in turn.tool_calls], expected)
        score = self._compare(expected, made)
        is_adk = self.adk_compat or (sample.eval_case is not None and sample.eval_case.dialect == "adk")
        if score.value == 1.0 or is_adk:
            return score
        # Calls without effect that succeeded in one of these turns, or in an earlier one, do not count.
        idle = [call for turn in turns for call, response in answered_calls(turn) if _is_idle(call, response)]
        if not idle:  # as in most turns
            return score
        before = takewhile(lambda turn: turn is not turns[0], sample.conversation.turns)
        succeeded = {
            _hashed((call.name, call.args or None))
            for turn in (*before, *turns)
            for call, response in answered_calls(turn)
            if not _is_idle(call, response)
        }
        retried = [call for call in idle if _hashed((call.name, call.args or None)) in succeeded]
        if retried:
            left_out = set(map(id, retried))
            score = self._compare(expected, [call for call in made if id(call) not in left_out])
            score.details = (score.details or {}) | {"retried": [call.name for call in retried]}
        return score

    def _compare(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> Score:
        wanted, made = self._keys(expected), self._keys(actual)
        if wanted == made:
            return Score(1.0, details=credit(len(expected), len(expected), len(actual)))
        if not self._needs_rules(expected):
            return self._score(expected, actual, wanted, made, operator.eq, _equal_partners(wanted, made))
        scores = []
        for unclear in (False, True):  # a call that only a judge can compare counts both ways
            same = partial(self._is_same, unclear)
            partners = count_matches(expected, actual, same)
            scores.append(self._score(expected, actual, expected, actual, same, partners))
        if scores[0].value == scores[1].value:
            return scores[0]
        return Score(None, reason=JUDGE_NEEDED, details=scores[0].details)

    def partners(self, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[int | None]:
        """Returns for every expected call the index of the actual one that is as good, or None.

        A call that only a judge can compare has no partner.
        """
        if self._needs_rules(expected):
            return count_matches(expected, actual, partial(self._is_same, False))
        return _equal_partners(self._keys(expected), self._keys(actual))

    def _needs_rules(self, expected: Sequence[ToolCall]) -> bool:
        if self.argument_matchers or self.adk_compat:
            return bool(self.argument_matchers)
        for call in expected:
            for value in (call.args or {}).values():
                if type(value) is dict and is_directive(value):
                    return True
        return False

    def _keys(self, calls: Sequence[ToolCall]) -> list[_CallKey]:
        if self.ignore_args:
            return [(call.name, None) for call in calls]
        if self.adk_compat:
            return [(call.name, call.args) for call in calls]
        return [(call.name, call.args or None) for call in calls]

    def _is_same(self, unclear: bool, expected: ToolCall, actual: ToolCall) -> bool:
        if expected.name != actual.name:
            return False
        rules = self.argument_matchers
        matchers = {**rules.get("*", {}), **rules.get(expected.name or "", {})}
        verdict = self.ignore_args or arguments_match(expected.args, actual.args, matchers)
        return unclear if verdict is None else verdict

    def _score(
        self,
        expected: Sequence[ToolCall],
        actual: Sequence[ToolCall],
        wanted: Sequence[T],
        made: Sequence[T],
        same: Callable[[T, T], bool],
        partners: list[int | None],
    ) -> Score:
        """Scores two lists of calls or their keys, compared by `same`."""
        used = {*partners}
        missing = [expected[i] for i, j in enumerate(partners) if j is None]
        extra = [call for j, call in enumerate(actual) if j not in used]
        matched, rest = len(partners) - len(missing), iter(made)
        if self.match_type == "EXACT":
            is_match = len(wanted) == len(made) and all(map(same, wanted, made))
        elif self.match_type == "IN_ORDER":
            is_match = all(any(same(want, call) for call in rest) for want in wanted)
        else:
            is_match = matched == len(made if self.match_type == "SUBSET" else wanted)
        details = credit(matched, len(wanted), len(made))
        details["missing"], details["extra"] = [call.name for call in missing], [call.name for call in extra]
        if is_match:
            return Score(1.0, details=details)
        names_extra = bool(extra) and self.match_type in ("EXACT", "SUBSET")
        missed, others = calls_apart(missing, extra if names_extra else actual)
        parts = [f"Missing: {missed}."] if missing and self.match_type != "SUBSET" else []
        if names_extra:
            parts.append(f"Not expected: {others}.")
        elif parts:
            parts.append(f"Made: {others}.")
        if not parts:
            parts = [f"The order differs. Expected: {calls_text(expected)}. Made: {calls_text(actual)}."]
        return Score(0.0, explanation=" ".join(parts), details=details)


def _equal_partners(wanted: Sequence[_CallKey], made: Sequence[_CallKey]) -> list[int | None]:
    """Pairs equal calls: first those at the same place, which needs no hashes, then the others."""
    partners: list[int | None] = [None] * len(wanted)
    columns: list[int] = []
    for j, call in enumerate(made):
        if j < len(wanted) and wanted[j] == call:
            partners[j] = j
        else:
            columns.append(j)
    names = {made[j][0] for j in columns}
    rows = [i for i, partner in enumerate(partners) if partner is None and wanted[i][0] in names]
    if not rows or (rows == columns and len(rows) == 1):
        return partners
    matches = equal_matches([_hashed(wanted[i]) for i in rows], [_hashed(made[j]) for j in columns])
    for i, column in zip(rows, matches, strict=True):
        partners[i] = None if column is None else columns[column]
    return partners


def _hashed(key: _CallKey) -> Hashable:
    return key[0], frozen(key[1])


def _is_idle(call: ToolCall, response: ToolResponse | None) -> bool:
    return changed_nothing(response) or has_failed(response, call.name or "", call.args)


def credit(matched: int, expected: int, actual: int) -> JsonObject:
    """Returns precision, recall and F1 of `matched` calls; a side without calls has nothing wrong (1.0)."""
    precision = matched / actual if actual else 1.0
    recall = matched / expected if expected else 1.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    details: JsonObject = {"matched": matched, "expected": expected, "actual": actual}
    details["precision"], details["recall"], details["f1"] = precision, recall, f1
    return details
