"""final_state_v1: comparison of the session state with the expected state."""

from collections.abc import Iterator
from typing import ClassVar

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.criteria.calls.base import LeavesOpen, OpenScore
from turnwise.transforms.effects.changes import value_text
from turnwise.transforms.effects.equivalence import OpenPair, equivalent
from turnwise.transforms.matching.calls import directive_text, is_directive, plain_text, value_matches
from turnwise.transforms.matching.expectations import JUDGE_NEEDED
from turnwise.transforms.matching.sample import Sample, TurnPair

NO_STATE = "the log shows no session state"
_SHOWN = 3


class FinalState(MeasuredCriterion, LeavesOpen):
    """Share of the expected paths of the session state that hold the expected value, 0..1.

    Objects are compared path by path and lists as one value, like arguments in `tool_effects_v1`; unexpected
    paths are ignored. The judge of the run is asked about texts of other wording, by the options of
    `semantic_match`; without one there is no value. A case's
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
        return self._compare(wanted, sample.state_after(pair)) if wanted else None

    def score_conversation(self, sample: Sample) -> Score | None:
        """Compares the state at the end with the one that the case expects."""
        golden = sample.eval_case
        if golden is None or not golden.final_session_state:
            return None
        shown = _state_shown(sample.conversation)
        if not shown:
            return Score(None, reason=NO_STATE)
        return self._compare(golden.final_session_state, golden.session_state | shown)

    def _compare(self, wanted: JsonObject, state: JsonObject) -> Score:
        paths = list(_paths(wanted, state, ""))
        verdicts = [_verdict(expected, actual) for _, expected, actual in paths]
        pairs: list[OpenPair] = []
        for place, compared in enumerate(paths):
            if verdicts[place] is None:
                pair = _open_pair(*compared)
                verdicts[place] = self._answers.get(pair)
                pairs += [pair] if verdicts[place] is None else []
        differing = [path for path, verdict in zip(paths, verdicts, strict=True) if verdict is False]
        details: JsonObject = {
            "expected": len(paths),
            "matched": verdicts.count(True),
            "differing": [
                {"path": name, "expected": want, "actual": found} for name, want, found in differing
            ],
        }
        share = (verdicts.count(True) + len(pairs)) / len(paths)
        explanation = _summary(differing)
        if pairs:
            details["unclear"] = [pair._asdict() for pair in pairs]
            named = ", ".join(pair.name for pair in pairs[:_SHOWN])
            explanation = f"Wording not compared: {named}. {explanation if differing else ''}".strip()
        if pairs and (self.threshold is None or share >= self.threshold):
            return OpenScore(None, JUDGE_NEEDED, explanation=explanation, details=details, pairs=tuple(pairs))
        return Score(share, explanation=explanation, details=details)


def _state_shown(conversation: Conversation) -> JsonObject:
    """Returns the logged state at the end: the changes of the turns, and the state itself."""
    state: JsonObject = {}
    for turn in conversation.turns:
        state |= turn.variables
    return state | conversation.state


def _open_pair(path: str, wanted: JsonValue, found: JsonValue) -> OpenPair:
    text = directive_text(wanted) if is_directive(wanted) else plain_text(wanted)
    return OpenPair(f"{path} of the state", text, plain_text(found))


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
