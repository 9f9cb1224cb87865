"""Holds recorded turns against golden ones by the rules of the CES evaluation API."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Outcome
from turnwise.transforms.matching.calls import (
    PairedCalls,
    ParameterScore,
    ordered_share,
    parameter_outcome,
    parameter_score,
    reaches,
    same_tool,
    value_matches,
)

_NO_TURN = Turn()
JUDGE_NEEDED = "a comparison of meaning needs a judge"

_OUTCOMES: dict[bool | None, Outcome | None] = {True: "PASS", False: "FAIL", None: None}
ObservedAs = Literal["tool_call", "tool_response", "text", "agent", "payload"]


class ExpectationOutcome(msgspec.Struct):
    """Outcome of one expectation, or of an unexpected observation."""

    expectation: Expectation | None  # None: the observation was not expected
    outcome: Outcome | None  # None: unclear without a judge
    observed: ToolCall | ToolResponse | JsonObject | str | None = None  # None: nothing
    observed_as: ObservedAs | None = None
    parameters: ParameterScore | None = None  # how well those of an observed call match
    parameter_outcome: Outcome | None = None  # `parameters` against their gate


class TurnChecker:
    """Goes through the expectations of a turn; everything observed answers at most one of them.

    Only texts may answer several, because an agent may say in one message what a golden expects in two.
    """

    def __init__(
        self, case: EvalCase, expected: ExpectedTurn, turn: Turn, updates: JsonObject, paired: PairedCalls
    ) -> None:
        """Takes the expected and the made calls as they are paired; skipped ones get what is left."""
        self.case, self.turn, self.updates = case, turn, updates
        self.expectations = turn_expectations(expected)
        self.counted, self.made = paired.expected, paired.made
        self._has_skipped = any([e.skip for e in expected.expectations])
        self.are_met = not self._has_skipped and paired.are_equal
        self.partners = paired.partners
        if self._has_skipped:
            calls = [(e.tool_call, e.skip) for e in self.expectations if e.tool_call is not None]
            left = [j for j in range(len(paired.made)) if j not in paired.partners]
            rest = PairedCalls([call for call, skip in calls if skip], [paired.made[j] for j in left])
            of_counted = iter(paired.partners)
            of_skipped = iter([None if j is None else left[j] for j in rest.partners])
            self.partners = [next(of_skipped if skip else of_counted) for _, skip in calls]
        self._next_partner = iter(self.partners)
        self.responses = list(turn.tool_responses)
        self.transfers = list(turn.transfers)
        self.spoken = turn_texts(turn)
        self.texts = list(self.spoken)

    def outcomes(self) -> list[ExpectationOutcome]:
        """Returns what became of every expectation, in order."""
        outcomes = [_CHECKS[expectation.kind](self, expectation) for expectation in self.expectations]
        if self._has_skipped or self.turn.unknown_calls or self.turn.unknown_words:
            for expectation, outcome in zip(self.expectations, outcomes, strict=True):
                _leave_open(outcome, expectation, [self.turn])
                if expectation.skip:
                    outcome.outcome = outcome.parameter_outcome = "SKIPPED"
        return outcomes

    def _tool_call(self, expectation: Expectation) -> ExpectationOutcome:
        partner = next(self._next_partner)
        wanted = expectation.tool_call.args if expectation.tool_call else None
        least = expectation.parameter_threshold
        threshold = self.case.thresholds.parameter if least is None else least
        if partner is None:
            missed = ParameterScore(0, max(1, len(wanted or {})))
            is_checked = self.case.tool_correctness_enabled or self.case.step_tool_correctness_enabled
            gate = parameter_outcome(missed, threshold) if is_checked else "SKIPPED"
            outcome: Outcome = "FAIL" if is_checked else "SKIPPED"
            return ExpectationOutcome(expectation, outcome, parameters=missed, parameter_outcome=gate)
        call = self.made[partner]
        count = len(wanted or ())
        parameters = ParameterScore(count, count) if self.are_met else parameter_score(wanted, call.args)
        gate = parameter_outcome(parameters, threshold)
        made = gate if self.case.step_tool_correctness_enabled else "PASS"
        return ExpectationOutcome(expectation, made, call, "tool_call", parameters, gate)

    def _tool_response(self, expectation: Expectation) -> ExpectationOutcome:
        wanted = expectation.tool_response or ToolResponse()
        candidates = [r for r in self.responses if same_tool(wanted, r)]
        verdicts = [value_matches(wanted.response, r.response) for r in candidates]
        if not candidates:
            return ExpectationOutcome(expectation, "FAIL")
        best = verdicts.index(True) if True in verdicts else 0
        self.responses.remove(candidates[best])
        return ExpectationOutcome(expectation, _OUTCOMES[verdicts[best]], candidates[best], "tool_response")

    def _agent_response(self, expectation: Expectation) -> ExpectationOutcome:
        wanted, texts = expectation.text or "", self.spoken
        is_by_meaning = expectation.comparison == "SEMANTIC_SIMILARITY"
        if not texts:
            is_off = is_by_meaning and not self.case.similarity_enabled
            return ExpectationOutcome(expectation, "SKIPPED" if is_off else "FAIL")
        if expectation.comparison == "CONTAINS":
            fit = next((text for text in (*self.texts, *texts) if wanted in text), None)
        else:
            fit = wanted if wanted in self.texts else None
        observed = fit
        if fit is None:  # the first text that is left and that no expectation states
            stated = [e.text for e in self.expectations if e.kind == "agent_response"]
            observed = next((text for text in self.texts if text not in stated), None)
        if observed in self.texts:
            self.texts.remove(observed)
        outcome: Outcome | None = "FAIL" if fit is None else "PASS"
        if fit is None and is_by_meaning:
            outcome = None if self.case.similarity_enabled else "SKIPPED"
        return ExpectationOutcome(expectation, outcome, texts[-1] if observed is None else observed, "text")

    def _agent_transfer(self, expectation: Expectation) -> ExpectationOutcome:
        wanted = expectation.target_agent or ""
        match = next((agent for agent in self.transfers if same_agent(wanted, agent)), None)
        if match is None:
            return ExpectationOutcome(expectation, "FAIL")
        self.transfers.remove(match)
        return ExpectationOutcome(expectation, "PASS", match, "agent")

    def _updated_variables(self, expectation: Expectation) -> ExpectationOutcome:
        wanted, made = expectation.variables or {}, self.updates
        verdicts = {value_matches(v, made[k]) if k in made else False for k, v in wanted.items()}
        verdict = False if False in verdicts else None if None in verdicts else True
        return ExpectationOutcome(expectation, _OUTCOMES[verdict])


_CHECKS: dict[str, Callable[[TurnChecker, Expectation], ExpectationOutcome]] = {
    "tool_call": TurnChecker._tool_call,
    "tool_response": TurnChecker._tool_response,
    "agent_response": TurnChecker._agent_response,
    "agent_transfer": TurnChecker._agent_transfer,
    "updated_variables": TurnChecker._updated_variables,
    "mock_tool_response": lambda checker, stated: ExpectationOutcome(stated, "SKIPPED"),
    "no_tool_calls": lambda checker, stated: ExpectationOutcome(
        stated, "FAIL" if checker.turn.tool_calls else "PASS"
    ),
}


def _leave_open(outcome: ExpectationOutcome, expectation: Expectation, turns: Sequence[Turn]) -> None:
    """Leaves open what calls or words that the log does not show could change."""
    is_said = expectation.kind == "agent_response"
    if any(turn.unknown_words if is_said else turn.unknown_calls for turn in turns):
        changeable = "PASS" if expectation.kind == "no_tool_calls" else "FAIL"
        if outcome.outcome == changeable:
            outcome.outcome = None
        if outcome.parameter_outcome == "FAIL":
            outcome.parameter_outcome = None


def turn_texts(turn: Turn) -> list[str]:
    """Returns everything the agent said in a turn, in order."""
    return list(turn.agent_messages) or ([turn.agent] if turn.agent else [])


def same_agent(left: str, right: str) -> bool:
    """Compares two agents by resource name, or by short name where one side has only that."""
    if "/" in left and "/" in right:
        return left == right
    return left.rsplit("/", 1)[-1] == right.rsplit("/", 1)[-1]


class TurnReplay(msgspec.Struct):
    """Everything about a golden turn that needs no judge."""

    outcomes: list[ExpectationOutcome]  # one per expectation in order, then unexpected observations
    tool_score: float | None = None  # share of the expected tools called, 0..1; None: none is expected
    ordered_score: float | None = None  # share called in the expected order, 0..1; None: none is expected
    # `tool_score` against its gate; None: no score, the check is off, or calls may be missing in the log.
    tool_outcome: Outcome | None = None
    is_partial: bool = False  # calls may be missing in the log: the shares are those of what it shows


def turn_expectations(expected: ExpectedTurn) -> list[Expectation]:
    """Returns a golden turn's expectations, made from its calls and response where it has no CES form."""
    if expected.expectations:
        return expected.expectations
    made = [Expectation("tool_call", call) for call in expected.tool_calls or ()]
    if expected.response:
        made.append(Expectation(kind="agent_response", text=expected.response))
    return made


def agent_updates(turn: Turn | None) -> JsonObject:
    """Returns the session variables that the agent updated in a turn, with their last values."""
    if turn is None or not turn.variables:
        return {}
    return {name: value for name, value in turn.variables.items() if name not in turn.given_variables}


def replay_turn(
    case: EvalCase, expected: ExpectedTurn, actual: Turn | None, updates: JsonObject, paired: PairedCalls
) -> TurnReplay:
    """Checks everything that a golden turn expects; comparisons of meaning are left open.

    Nothing is observed of a turn that is missing (None); `updates` are the variables that the agent updated.
    """
    turn, is_ces = actual or _NO_TURN, case.dialect == "ces"
    checker = TurnChecker(case, expected, turn, updates, paired)
    outcomes = checker.outcomes()
    replay = TurnReplay(outcomes)
    if counted := checker.counted:
        replay.tool_score = replay.ordered_score = 1.0
        if not checker.are_met:
            called = sum([o.observed_as == "tool_call" and o.outcome != "SKIPPED" for o in outcomes])
            replay.tool_score = called / len(counted)
            replay.ordered_score = ordered_share(counted, paired.made)
        replay.is_partial = turn.unknown_calls is not None
        if not replay.is_partial:
            replay.tool_outcome = tool_outcome(case, expected, replay.tool_score)
    # What was not expected.
    if not checker.are_met:
        extra: Outcome = "FAIL" if is_ces and case.thresholds.extra_tool_calls == "FAIL" else "SKIPPED"
        used = set(checker.partners)
        calls = [call for j, call in enumerate(paired.made) if j not in used]
        outcomes += [ExpectationOutcome(None, extra, call, "tool_call") for call in calls]
    if is_ces:
        known = expected.scripted_transfers
        strangers = [a for a in checker.transfers if not any(same_agent(a, b) for b in known)]
        outcomes += [ExpectationOutcome(None, "FAIL", agent, "agent") for agent in strangers]
        if not any(e.kind == "agent_response" for e in checker.expectations):
            spoken: Outcome = "FAIL" if case.thresholds.unexpected_response == "FAIL" else "SKIPPED"
            outcomes += [ExpectationOutcome(None, spoken, text, "text") for text in checker.texts]
    outcomes += [ExpectationOutcome(None, "SKIPPED", payload, "payload") for payload in turn.payloads]
    return replay


def tool_threshold(case: EvalCase, expected: ExpectedTurn) -> float:
    """Returns the gate of a turn's tool score: the turn's own, or else the case's."""
    stated = expected.thresholds.tool_invocation if expected.thresholds else None
    return case.thresholds.tool_invocation if stated is None else stated


def tool_outcome(case: EvalCase, expected: ExpectedTurn, score: float) -> Outcome | None:
    """Holds a turn's tool score against its gate; None where the check is switched off."""
    if not case.tool_correctness_enabled:
        return None
    return "PASS" if reaches(score, tool_threshold(case, expected)) else "FAIL"


# Compares a whole conversation with the expectations of a scenario.


def scenario_outcomes(case: EvalCase, conversation: Conversation) -> list[ExpectationOutcome]:
    """Returns what became of every scenario expectation, in order.

    A tool expectation is met by a call with the given parameters anywhere. An agent response is met by its
    text inside a message of the agent; in other words it is left open. Unexpected calls do not count.
    """
    made = [call for turn in conversation.turns for call in turn.tool_calls]
    wanted = [e.tool_call for e in case.expectations if e.tool_call is not None]
    partners = iter(PairedCalls(wanted, made).partners)
    texts = [text for turn in conversation.turns for text in turn_texts(turn)]
    outcomes = []
    for expectation in case.expectations:
        outcome = ExpectationOutcome(expectation, "FAIL")
        if expectation.tool_call is None:
            outcome.observed = next((text for text in texts if (expectation.text or "") in text), None)
            if outcome.observed is not None:
                outcome.outcome, outcome.observed_as = "PASS", "text"
            elif texts:
                outcome.outcome = None
        elif (partner := next(partners)) is not None:
            score = parameter_score(expectation.tool_call.args, made[partner].args)
            gate = parameter_outcome(score, case.thresholds.parameter)
            outcome = ExpectationOutcome(expectation, gate, made[partner], "tool_call", score, gate)
        if outcome.outcome == "FAIL":
            _leave_open(outcome, expectation, conversation.turns)
        outcomes.append(outcome)
    return outcomes
