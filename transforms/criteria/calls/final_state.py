"""final_state_v1: comparison of the session state with the expected state."""

from collections.abc import Iterator
from typing import ClassVar

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.harm import CriterionHarm
from turnwise.schemas.score import Score
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.effects.equivalence import equivalent
from turnwise.transforms.effects.wording import value_text
from turnwise.transforms.matching.arguments import is_directive, value_matches
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import Sample, TurnPair

NO_STATE = "the log shows no session state"
_SHOWN = 3


class FinalState(MeasuredCriterion):
    """Share of the expected paths of the session state that hold the expected value, 0..1.

    Objects are compared path by path and lists as one value, like arguments in `tool_effects_v1`; unexpected
    paths are ignored. A text whose wording alone differs leaves it without a value. A case's
    `final_session_state` is compared with the state at the end of the conversation, CES's updated variables
    with the state after their turn.

    When to use: The session state at the end (or after a turn) must hold certain values.
    """

    name: ClassVar[str] = "final_state_v1"
    needs: ClassVar[str] = "a case with a final session state"
    harm: ClassVar[CriterionHarm] = "missing_writes"
    rests_on: ClassVar[RestsOn] = ("calls",)
    turns_count: ClassVar[bool] = True

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Compares the variables after a turn with those that its golden turn expects."""
        stated = pair.expected.expectations if pair.expected else []
        wanted: JsonObject = {}
        for expectation in stated:
            if expectation.kind == "updated_variables" and not expectation.skip:
                wanted |= expectation.variables or {}
        return _compare(wanted, sample.state_after(pair)) if wanted else None

    def score_conversation(self, sample: Sample) -> Score | None:
        """Compares the state at the end with the one that the case expects."""
        golden = sample.eval_case
        if golden is None or not golden.final_session_state:
            return None
        shown = _state_shown(sample.conversation)
        if not shown:
            return Score(None, reason=NO_STATE)
        return _compare(golden.final_session_state, golden.session_state | shown)


def _state_shown(conversation: Conversation) -> JsonObject:
    """Returns the logged state at the end: the changes of the turns, and the state itself."""
    state: JsonObject = {}
    for turn in conversation.turns:
        state |= turn.variables
    return state | conversation.state


def _compare(wanted: JsonObject, state: JsonObject) -> Score:
    paths = list(_paths(wanted, state, ""))
    verdicts = [_verdict(expected, actual) for _, expected, actual in paths]
    differing = [path for path, verdict in zip(paths, verdicts, strict=True) if verdict is False]
    details = {
        "expected": len(paths),
        "matched": verdicts.count(True),
        "differing": [{"path": path, "expected": want, "actual": found} for path, want, found in differing],
    }
    if None in verdicts:
        return Score(None, reason=JUDGE_NEEDED, details=details)
    return Score(verdicts.count(True) / len(paths), explanation=_summary(differing), details=details)


def _paths(wanted: JsonObject, state: JsonValue, prefix: str) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yields every path of the expected state with its expected and its actual value."""
    for key, value in wanted.items():
        found = state.get(key) if isinstance(state, dict) else None
        if isinstance(value, dict) and value and not is_directive(value):
            yield from _paths(value, found, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value, found


def _verdict(wanted: JsonValue, found: JsonValue) -> bool | None:
    if is_directive(wanted):
        return value_matches(wanted, found)
    is_same = equivalent(wanted, found)
    return None if not is_same and equivalent(wanted, found, "met") else is_same


def _summary(differing: list[tuple[str, JsonValue, JsonValue]]) -> str:
    if not differing:
        return "The state is as expected."
    parts = [
        f"{path} is {value_text(found)} instead of {value_text(want)}" for path, want, found in differing
    ]
    more = f", and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return f"{', '.join(parts[:_SHOWN])}{more}."
