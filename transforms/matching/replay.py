"""Holds recorded turns against golden ones by the rules of the CES evaluation API."""

from dataclasses import dataclass

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Turn
from turnwise.schemas.score import Outcome
from turnwise.schemas.values import JsonObject
from turnwise.transforms.matching.arguments import reaches
from turnwise.transforms.matching.calls import ordered_share
from turnwise.transforms.matching.expectations import ExpectationOutcome, TurnChecker, same_agent

_NO_TURN = Turn()


@dataclass(slots=True)
class TurnReplay:
    """Everything about a golden turn that needs no judge.

    Attributes:
        outcomes: One per expectation in order, then the observations that nobody expected.
        tool_score: Share of the expected tools that were called, 0..1; None: none is expected.
        ordered_score: Share called in the expected order, 0..1; None: none is expected.
        tool_outcome: `tool_score` against its gate; None: no score, the check is switched off, or calls may
            be missing in the log.
        is_partial: Whether calls may be missing in the log; the shares are then those of what it shows.
    """

    outcomes: list[ExpectationOutcome]
    tool_score: float | None = None
    ordered_score: float | None = None
    tool_outcome: Outcome | None = None
    is_partial: bool = False


def turn_expectations(expected: ExpectedTurn) -> list[Expectation]:
    """Returns a golden turn's expectations, made from its calls and response where it has no CES form."""
    if expected.expectations:
        return expected.expectations
    made = [Expectation(kind="tool_call", tool_call=call) for call in expected.tool_calls or []]
    if expected.response:
        made.append(Expectation(kind="agent_response", text=expected.response))
    return made


def replay_turn(case: EvalCase, expected: ExpectedTurn, actual: Turn | None, state: JsonObject) -> TurnReplay:
    """Checks everything that a golden turn expects.

    Args:
        case: The golden case; its gates and switches apply.
        expected: The golden turn.
        actual: The recorded turn; None: it is missing, so that nothing expected was observed.
        state: Session variables after the turn.

    Returns:
        The outcomes; comparisons of meaning are left undecided, unless the texts are identical.
    """
    turn, expectations = actual or _NO_TURN, turn_expectations(expected)
    checker = TurnChecker(case, expectations, turn, state)
    replay = TurnReplay([checker.check(expectation) for expectation in expectations])
    replay.outcomes += _unexpected(case, expected, expectations, checker)
    counted = [e.tool_call for e in expectations if e.tool_call is not None and not e.skip]
    if counted:
        called = sum(
            o.observed_as == "tool_call" and o.outcome != "SKIPPED"
            for o in replay.outcomes[: len(expectations)]
        )
        replay.tool_score = called / len(counted)
        replay.ordered_score = ordered_share(counted, turn.tool_calls)
        replay.is_partial = turn.unknown_calls is not None
        if not replay.is_partial:
            replay.tool_outcome = tool_outcome(case, expected, replay.tool_score)
    return replay


def tool_threshold(case: EvalCase, expected: ExpectedTurn) -> float:
    """Returns the gate of a turn's tool score: the turn's own, or else the case's."""
    own = expected.thresholds.tool_invocation if expected.thresholds else None
    return case.thresholds.tool_invocation if own is None else own


def tool_outcome(case: EvalCase, expected: ExpectedTurn, score: float) -> Outcome | None:
    """Holds a turn's tool score against its gate; None where the check is switched off."""
    if not case.tool_correctness_enabled:
        return None
    return "PASS" if reaches(score, tool_threshold(case, expected)) else "FAIL"


def _unexpected(
    case: EvalCase, expected: ExpectedTurn, expectations: list[Expectation], checker: TurnChecker
) -> list[ExpectationOutcome]:
    is_ces = case.dialect == "ces"
    extra: Outcome = "FAIL" if is_ces and case.thresholds.extra_tool_calls == "FAIL" else "SKIPPED"
    found = [ExpectationOutcome(None, extra, call, "tool_call") for call in checker.unexpected_calls()]
    if is_ces:
        strangers = [
            a for a in checker.transfers if not any(same_agent(a, b) for b in expected.scripted_transfers)
        ]
        found += [ExpectationOutcome(None, "FAIL", agent, "agent") for agent in strangers]
        if not any(e.kind == "agent_response" for e in expectations):
            spoken: Outcome = "FAIL" if case.thresholds.unexpected_response == "FAIL" else "SKIPPED"
            found += [ExpectationOutcome(None, spoken, text, "text") for text in checker.texts]
    return found + [
        ExpectationOutcome(None, "SKIPPED", payload, "payload") for payload in checker.turn.payloads
    ]
