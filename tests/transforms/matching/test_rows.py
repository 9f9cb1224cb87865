"""How calls, their arguments and answers, turns and expectations are matched: rows of what goes with what."""

import re

import msgspec
import pytest
from pydantic import ValidationError

from tests.checked_rows import rows_beside
from tests.samples import calls
from tests.transforms.matching.test_calls import answered_calls
from tests.transforms.matching.test_calls import responses as answered_by
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.matching.alignment import best_assignment, equal_matches
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    PairedCalls,
    ParameterScore,
    check_directives,
    ordered_share,
    pair_responses,
    paired_calls,
    parameter_outcome,
    parameter_score,
    same_value,
    value_matches,
)
from turnwise.transforms.matching.expectations import replay_turn
from turnwise.transforms.matching.sample import pair_turns


@rows_beside(__file__, "alignment", "calls", "expectations")
def test_rows(check, arguments):
    globals()[check](*arguments)


def value(expected, actual, wanted):
    assert value_matches(expected, actual) is wanted


def equal(left, right, wanted):
    """By number and kind."""
    assert same_value(left, right) is wanted
    assert same_value(right, left) is wanted


def bad_pattern(given):
    with pytest.raises(ValueError, match="not a regular expression") as caught:
        check_directives({"fine": "(", "bad": given}, "the call of f")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("bad of the call of f: ")


def unknown_directive(kind, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        check_directives({"fine": "(", "bad": {"$matchType": kind, "$matchValue": "x"}}, "f")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def good_directive(given):
    check_directives({"a": given}, "f")


def refused_matcher(fields):
    with pytest.raises(ValidationError):
        ArgumentMatcher.model_validate(fields)


def parameters(expected, actual, matched, total, unclear, wrong, share):
    score = parameter_score(expected, actual)
    assert score == ParameterScore(matched, total, unclear, tuple(wrong))
    assert score.value == share


def gate_of_parameters(counts, threshold, wanted):
    """A score is undecided only while a judge can tip it."""
    assert parameter_outcome(ParameterScore(*counts), threshold) == wanted


def paired(expected, actual, wanted):
    """By tool, then parameters, then order."""
    assert PairedCalls(calls(expected), calls(actual)).partners == wanted


def partner(wanted, first, second, place):
    """An undecided parameter counts as half a match."""
    actual = [ToolCall(name="go", args=first), ToolCall(name="go", args=second)]
    assert PairedCalls([ToolCall(name="go", args=wanted)], actual).partners == [place]


def share_in_order(expected, actual, share):
    assert ordered_share(calls(expected), calls(actual)) == share


def answers(made, answered, partners):
    responses = answered_by(answered)
    places = {id(response): i for i, response in enumerate(responses)}
    found = pair_responses(answered_calls(made), responses)
    assert [None if response is None else places[id(response)] for response in found] == partners


def tie(weights, wanted):
    """Of equal weights the first."""
    assert best_assignment(weights) == wanted


def equal_elements(expected, actual, wanted):
    assert equal_matches(expected, actual) == wanted


def greeted(golden, recorded, questions):
    """Greetings of one side shift nothing."""
    pairs = pair_turns([ExpectedTurn(user=user) for user in golden], msgspec.convert(recorded, list[Turn]))
    assert [pair.expected.user if pair.expected else None for pair in pairs] == questions
    assert [pair.index for pair in pairs] == list(range(len(pairs)))
    greetings = max(len(recorded) - len(golden), 0) if questions[0] is None else 0
    assert [pair.label for pair in pairs[:greetings]] == [None] * greetings


def replayed(expectations, turn, wanted, fields=None):
    """Holds a turn against expectations; of what is found, what is `wanted` is compared."""
    fields = {"case": {}, "state": {}, "scripted": [], **(fields or {})}
    case = msgspec.convert({"eval_id": "e", "dialect": "ces", **fields["case"]}, EvalCase)
    given = {"user": "q", "expectations": expectations, "scripted_transfers": fields["scripted"]}
    expected, made = msgspec.convert(given, ExpectedTurn), msgspec.convert(turn, Turn | None)
    found = replay_turn(case, expected, made, fields["state"], paired_calls(expected, made))
    scores = {name: getattr(found, name) for name in ("tool_score", "ordered_score", "tool_outcome")}
    outcomes = found.outcomes
    seen = [outcome.observed for outcome in outcomes]
    shown = {
        "first": outcomes[0].outcome if outcomes else None,
        "outcomes": [outcome.outcome for outcome in outcomes],
        "unexpected": [outcome.expectation is None for outcome in outcomes],
        "observed": [[one.name, one.args] if isinstance(one, ToolCall) else one for one in seen],
        "observed_as": [outcome.observed_as for outcome in outcomes],
        "matched": [outcome.parameters and outcome.parameters.matched for outcome in outcomes],
        "parameter_values": [outcome.parameters and outcome.parameters.value for outcome in outcomes],
        "parameter_outcomes": [outcome.parameter_outcome for outcome in outcomes],
        **scores,
    }
    assert {name: shown[name] for name in wanted} == wanted
