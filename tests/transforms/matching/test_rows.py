"""What goes with what: calls, arguments, answers, turns, expectations and cases, as rows and for any."""

import json
import re
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import turnwise
from tests.samples import calls
from tests.tables import rows_test
from tests.transforms.matching.test_calls import answered_calls
from tests.transforms.matching.test_calls import responses as answered_by
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    Record,
    ToolCall,
    Turn,
    TurnThresholds,
)
from turnwise.schemas.run import RunInfo
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching import calls as pairing
from turnwise.transforms.matching import sample as matching
from turnwise.transforms.matching.alignment import best_assignment, equal_matches
from turnwise.transforms.matching.expectations import replay_turn
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria, gap_reasons, record_findings

test_rows = rows_test(globals())


def value(expected, actual, wanted, why=None):
    assert pairing.value_matches(expected, actual) is wanted, why


def equal(left, right, wanted):
    """By number and kind."""
    assert pairing.same_value(left, right) is wanted
    assert pairing.same_value(right, left) is wanted


def bad_pattern(given):
    with pytest.raises(ValueError, match="not a regular expression") as caught:
        pairing.check_directives({"fine": "(", "bad": given}, "the call of f")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("bad of the call of f: ")


def unknown_directive(kind, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        pairing.check_directives({"fine": "(", "bad": {"$matchType": kind, "$matchValue": "x"}}, "f")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def good_directive(given):
    pairing.check_directives({"a": given}, "f")


def refused_matcher(fields):
    with pytest.raises(ValidationError):
        pairing.ArgumentMatcher.model_validate(fields)


def parameters(expected, actual, matched, total, unclear, wrong, share):
    score = pairing.parameter_score(expected, actual)
    assert score == pairing.ParameterScore(matched, total, unclear, tuple(wrong))
    assert score.value == share


def gate_of_parameters(counts, threshold, wanted):
    """A score is undecided only while a judge can tip it."""
    assert pairing.parameter_outcome(pairing.ParameterScore(*counts), threshold) == wanted


def paired(expected, actual, wanted):
    """By tool, then parameters, then order."""
    assert pairing.PairedCalls(calls(expected), calls(actual)).partners == wanted


def partners(expected, actual, wanted, why):
    """An undecided parameter counts as half a match."""
    sides = (msgspec.convert(side, list[ToolCall]) for side in (expected, actual))
    assert pairing.PairedCalls(*sides).partners == wanted, why


def share_in_order(expected, actual, share):
    assert pairing.ordered_share(calls(expected), calls(actual)) == share


def answers(made, answered, partners):
    responses = answered_by(answered)
    places = {id(response): i for i, response in enumerate(responses)}
    found = pairing.pair_responses(answered_calls(made), responses)
    assert [None if response is None else places[id(response)] for response in found] == partners


def tie(weights, wanted):
    """Of equal weights the first."""
    assert best_assignment(weights) == wanted


def equal_elements(expected, actual, wanted):
    assert equal_matches(expected, actual) == wanted


def greeted(golden, recorded, questions, labels=None):
    """Greetings of one side shift nothing."""
    said = msgspec.convert(recorded, list[Turn])
    pairs = matching.pair_turns([ExpectedTurn(user=user) for user in golden], said)
    assert [pair.expected.user if pair.expected else None for pair in pairs] == questions
    assert [pair.actual for pair in pairs if pair.actual] == said
    assert [pair.index for pair in pairs] == list(range(len(pairs)))
    greetings = max(len(recorded) - len(golden), 0) if questions[0] is None else 0
    wanted = [None] * greetings if labels is None else labels
    assert [pair.label for pair in pairs[: len(wanted)]] == wanted


def replayed(expectations, turn, wanted, fields=None):
    """Holds a turn against expectations; of what is found, what is `wanted` is compared."""
    fields = {"case": {}, "state": {}, "scripted": [], **(fields or {})}
    case = msgspec.convert({"eval_id": "e", "dialect": "ces", **fields["case"]}, EvalCase)
    given = {"user": "q", "expectations": expectations, "scripted_transfers": fields["scripted"]}
    expected, made = msgspec.convert(given, ExpectedTurn), msgspec.convert(turn, Turn | None)
    found = replay_turn(case, expected, made, fields["state"], pairing.paired_calls(expected, made))
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


def index_of(cases):
    index = matching.CaseIndex()
    index.add(matching.packed_case(Record("cases", i, b""), case) for i, case in enumerate(cases))
    assert index.distinct(Counter()) == []
    return index


def case_of(sets, fields, wanted):
    """Of cases by set and id, in any order: the one that a conversation names, or why there is none."""
    conversation = Conversation(**{"conversation_id": "c", **fields})
    named = sets and [EvalCase(eval_id=name, eval_set_id=of) for of, name in sets]
    if isinstance(wanted, dict):
        with pytest.raises((matching.UnknownCaseError, matching.AmbiguousCaseError)) as caught:
            index_of(named).find(conversation)
        assert {caught.type.__name__: str(caught.value)} == wanted
        return
    for cases in (named, named and named[::-1]):
        case = index_of(cases).find(conversation) if cases is not None else matching.inline_case(conversation)
        assert (case and [*case.key]) == wanted


def case_for(cases, fields, wanted):
    """What a conversation is held against, from the cases and from what its record expects."""
    index = None if cases is None else index_of(msgspec.convert(cases, list[EvalCase]))
    expected = msgspec.convert({"eval_id": "e", **wanted}, EvalCase)
    for _ in range(2):  # what is looked for again is shared
        conversation = msgspec.convert({"conversation_id": "c", **fields}, Conversation)
        sample = matching.match_case(index, conversation, Record("log", 1, b""), Counter())
        assert {name: getattr(sample.eval_case, name) for name in wanted} == {
            name: getattr(expected, name) for name in wanted
        }


def first_message(said, status, failures):
    cases = [
        {"eval_id": name, "turns": [{"user": user, "response": "Done"}]}
        for name, user in (("a", "Cancel order 8"), ("b", "Hi"), ("c", "HI "))
    ]
    turns = said if isinstance(said, list) else [{"user": said, "agent": "Done"}]
    log = {"conversation_id": "c1", "turns": turns}
    config = {"criteria": {"response_match_score": 0.5}, "match_cases_by": "first_user_message"}
    result = turnwise.evaluate([log], cases=cases, config=config)
    assert [row["verdict"] or "NO_VERDICT" for row in result.conversations] == ([status] if status else [])
    assert [row["message"] for row in result.failures] == failures
    with pytest.raises(turnwise.ConfigError, match="match_cases_by needs cases"):
        turnwise.evaluate([log], config=config)


DIGEST = "58238b524d61458f"


def digest_of(case):
    return msgspec.convert(case, EvalCase).digest


def same_digest(case):
    assert digest_of(case) == DIGEST


def other_digest(case):
    assert digest_of(case) not in (None, DIGEST)


def some_digest(argument):
    assert len(digest_of({"eval_id": "e", "actions": [{"name": "book", "args": {"a": argument}}]})) == 16


def digest(case, wanted):
    """It is the same in every run, and absent where nothing is expected."""
    assert digest_of(case) == wanted


def verdict(record, case=None):
    source = Record("log.jsonl", 1, json.dumps(record).encode())
    (found,) = LogReader().read(source)
    golden = matching.inline_case(found) if case is None else msgspec.convert(case, EvalCase)
    criteria = build_criteria(parse_config(json.dumps({"criteria": {"tool_effects_v1": {}}})))
    scored = evaluate(matching.Sample(found, golden, source), Criteria(criteria))[0]
    return decide(scored, RunInfo("r", "2026-01-01T00:00:00Z")).verdict


def stops(record, case=None):
    """A log that stops without an answer does not pass."""
    found = verdict(record, case)
    assert found.status is None
    assert "no answer" in found.reasons[0] or "without its result" in " ".join(found.reasons)


def passes(record, case=None):
    """Where no answer is due, the scores decide."""
    assert verdict(record, case).status == "PASS"


def silent(turns, reason):
    """A silent turn leaves no verdict."""
    log = {"conversation_id": "c", "turns": turns}
    (row,) = turnwise.evaluate(log, criteria={"tool_call_count_v1": {"threshold": 9}}).conversations
    assert row["verdict"] == ("PASS" if reason is None else None)
    assert (row["reason"] or "").startswith(reason or "")


def test_a_named_case_that_is_not_there_is_no_pass_although_the_record_expects_something():
    turns = [Turn(expected=ExpectedTurn(response="own"))]
    conversation = Conversation(conversation_id="c", eval_id="zzz", turns=turns)
    case = index_of([EvalCase(eval_id="other")]).find(conversation)
    sample = matching.Sample(conversation, case, Record(source="s", position=0, data=b""))
    assert gap_reasons(sample) == ["no eval case is called 'zzz'"]
    assert [row.error_type for row in record_findings(sample)] == ["UnknownCase"]


@pytest.mark.parametrize("value", [1, 0.5, 10**30, "\ud800", None, [{"a": []}]], ids=ascii)
def test_a_packed_case_is_the_case(value):
    """Also with a number of more than 64 bits or half a character, among others like it."""
    turn = ExpectedTurn(user="Hi", tool_calls=[ToolCall("f", {"x": value})], thresholds=TurnThresholds())
    made = [EvalCase(eval_id=f"{i}", eval_set_id="s", turns=[turn] * (i + 1), tags=["a"]) for i in range(9)]
    packed = [matching.packed_case(Record("cases", i, b"{}"), case) for i, case in enumerate(made)]
    again = matching.decode_cases(matching.encode_cases(packed))
    assert [entry.unpacked() for entry in again] == [(Record("cases", i, b""), c) for i, c in enumerate(made)]
    conversation = Conversation(conversation_id="c", eval_id="3", eval_set_id="s")
    assert index_of(made).find(conversation) == made[3]


@given(
    st.lists(
        st.none() | st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3) | st.none(), max_size=2),
        max_size=6,
    )
)
def test_the_state_after_a_turn_is_what_the_turns_up_to_it_set(changes):
    expects = Expectation(kind="updated_variables", variables={"x": 1, "y": {}, "w": 0})
    conversation = Conversation(conversation_id="c", turns=[Turn(variables=one or {}) for one in changes])
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(expectations=[expects]) for _ in changes])
    sample, state = matching.Sample(conversation, case, Record("log", 1, b"")), {}
    for pair, change in zip(sample.pairs, changes, strict=True):
        state |= change or {}
        assert sample.state_after(pair) == {name: state[name] for name in ("x", "y") if name in state}
