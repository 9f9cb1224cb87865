"""Holds recorded turns against golden ones by the rules of the CES evaluation API."""

from collections.abc import Sequence
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
    return [*turn.agent_messages] or ([turn.agent] if turn.agent else [])


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
    expectations, counted, made = turn_expectations(expected), paired.expected, paired.made
    are_met, partners, has_skipped = paired.are_equal, paired.partners, False
    for wanted in expected.expectations:
        has_skipped = has_skipped or wanted.skip
    if has_skipped:  # skipped ones get what is left
        calls = [(e.tool_call, e.skip) for e in expectations if e.tool_call is not None]
        left = [j for j in range(len(made)) if j not in partners]
        rest = PairedCalls([call for call, skip in calls if skip], [made[j] for j in left]).partners
        of_counted, of_skipped = iter(partners), iter([None if j is None else left[j] for j in rest])
        are_met, partners = False, [next(of_skipped if skip else of_counted) for _, skip in calls]
    # What is observed answers at most one expectation, and is taken from here then.
    responses, transfers, spoken = [*turn.tool_responses], [*turn.transfers], turn_texts(turn)
    texts = [*spoken]
    outcomes: list[ExpectationOutcome] = []
    next_partner = iter(partners)
    for wanted in expectations:
        if wanted.kind == "tool_call":
            partner = next(next_partner)
            outcome = _call_outcome(case, wanted, None if partner is None else made[partner], are_met)
        elif wanted.kind == "agent_response":
            outcome = _answer_outcome(case, wanted, expectations, spoken, texts)
        else:
            outcome = _other_outcome(wanted, turn, updates, responses, transfers)
        outcomes.append(outcome)
    if has_skipped or turn.unknown_calls or turn.unknown_words:
        for outcome, wanted in zip(outcomes, expectations, strict=True):
            _leave_open(outcome, wanted, [turn])
            if wanted.skip:
                outcome.outcome = outcome.parameter_outcome = "SKIPPED"
    replay = TurnReplay(outcomes)
    if counted:
        replay.tool_score = replay.ordered_score = 1.0
        if not are_met:
            called = sum([o.observed_as == "tool_call" and o.outcome != "SKIPPED" for o in outcomes])
            replay.tool_score, replay.ordered_score = called / len(counted), ordered_share(counted, made)
        replay.is_partial = turn.unknown_calls is not None
        if not replay.is_partial:
            replay.tool_outcome = tool_outcome(case, expected, replay.tool_score)
    # What was not expected.
    extra: Outcome
    if not are_met:
        extra = "FAIL" if is_ces and case.thresholds.extra_tool_calls == "FAIL" else "SKIPPED"
        used = set(partners)
        for j, call in enumerate(made):
            if j not in used:
                outcomes.append(ExpectationOutcome(None, extra, call, "tool_call"))
    if is_ces:
        known = expected.scripted_transfers
        strangers = [a for a in transfers if not any(same_agent(a, b) for b in known)]
        outcomes += [ExpectationOutcome(None, "FAIL", agent, "agent") for agent in strangers]
        if not any(e.kind == "agent_response" for e in expectations):
            extra = "FAIL" if case.thresholds.unexpected_response == "FAIL" else "SKIPPED"
            outcomes += [ExpectationOutcome(None, extra, text, "text") for text in texts]
    outcomes += [ExpectationOutcome(None, "SKIPPED", payload, "payload") for payload in turn.payloads]
    return replay


def _call_outcome(
    case: EvalCase, wanted: Expectation, call: ToolCall | None, are_met: bool
) -> ExpectationOutcome:
    args, threshold = wanted.tool_call.args if wanted.tool_call else None, wanted.parameter_threshold
    if threshold is None:
        threshold = case.thresholds.parameter
    if call is None:
        missed = ParameterScore(0, max(1, len(args or {})))
        is_checked = case.tool_correctness_enabled or case.step_tool_correctness_enabled
        gate = parameter_outcome(missed, threshold) if is_checked else "SKIPPED"
        outcome: Outcome = "FAIL" if is_checked else "SKIPPED"
        return ExpectationOutcome(wanted, outcome, parameters=missed, parameter_outcome=gate)
    count = len(args or ())
    parameters = ParameterScore(count, count) if are_met else parameter_score(args, call.args)
    gate = parameter_outcome(parameters, threshold)
    made = gate if case.step_tool_correctness_enabled else "PASS"
    return ExpectationOutcome(wanted, made, call, "tool_call", parameters, gate)


def _answer_outcome(
    case: EvalCase, wanted: Expectation, others: Sequence[Expectation], spoken: list[str], texts: list[str]
) -> ExpectationOutcome:
    """Looks in the `texts` that are left first, and in all that was `spoken`.

    One text may answer several expectations: an agent may say in one message what a golden expects in two.
    """
    text, is_by_meaning = wanted.text or "", wanted.comparison == "SEMANTIC_SIMILARITY"
    if not spoken:
        is_off = is_by_meaning and not case.similarity_enabled
        return ExpectationOutcome(wanted, "SKIPPED" if is_off else "FAIL")
    if wanted.comparison == "CONTAINS":
        fit = next((other for other in (*texts, *spoken) if text in other), None)
    else:
        fit = text if text in texts else None
    observed = fit
    if fit is None:  # the first text that is left and that no expectation states
        stated = [e.text for e in others if e.kind == "agent_response"]
        observed = next((other for other in texts if other not in stated), None)
    if observed in texts:
        texts.remove(observed)
    outcome: Outcome | None = "FAIL" if fit is None else "PASS"
    if fit is None and is_by_meaning:
        outcome = None if case.similarity_enabled else "SKIPPED"
    return ExpectationOutcome(wanted, outcome, spoken[-1] if observed is None else observed, "text")


def _other_outcome(
    wanted: Expectation, turn: Turn, updates: JsonObject, responses: list[ToolResponse], transfers: list[str]
) -> ExpectationOutcome:
    kind, outcome = wanted.kind, ExpectationOutcome(wanted, "FAIL")
    if kind == "mock_tool_response":
        outcome.outcome = "SKIPPED"
    elif kind == "no_tool_calls":
        outcome.outcome = "FAIL" if turn.tool_calls else "PASS"
    elif kind == "updated_variables":
        stated = (wanted.variables or {}).items()
        verdicts = [value_matches(v, updates[k]) if k in updates else False for k, v in stated]
        outcome.outcome = _OUTCOMES[False if False in verdicts else None if None in verdicts else True]
    elif kind == "agent_transfer":
        target = wanted.target_agent or ""
        match = next((agent for agent in transfers if same_agent(target, agent)), None)
        if match is not None:
            transfers.remove(match)
            outcome = ExpectationOutcome(wanted, "PASS", match, "agent")
    elif candidates := [r for r in responses if same_tool(wanted.tool_response or ToolResponse(), r)]:
        answer = wanted.tool_response.response if wanted.tool_response else None
        verdicts = [value_matches(answer, r.response) for r in candidates]
        best = verdicts.index(True) if True in verdicts else 0
        responses.remove(candidates[best])
        outcome = ExpectationOutcome(wanted, _OUTCOMES[verdicts[best]], candidates[best], "tool_response")
    return outcome


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
