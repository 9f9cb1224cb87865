import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    Record,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.transforms.matching.calls import paired_calls
from turnwise.transforms.matching.expectations import replay_turn
from turnwise.transforms.matching.sample import Sample

MEANING = "SEMANTIC_SIMILARITY"


def call(name, resource=None, **args):
    return ToolCall(name=name, args=args, resource=resource)


def wants_call(name, skip=False, threshold=None, **args):
    return Expectation("tool_call", tool_call=call(name, **args), skip=skip, parameter_threshold=threshold)


def says(text, comparison=MEANING, skip=False):
    return Expectation("agent_response", text=text, comparison=comparison, skip=skip)


def hands_over(agent, skip=False):
    return Expectation("agent_transfer", target_agent=agent, skip=skip)


def sets(skip=False, **variables):
    return Expectation("updated_variables", variables=variables, skip=skip)


def answers(name, response, skip=False):
    return Expectation("tool_response", tool_response=ToolResponse(name=name, response=response), skip=skip)


def responses(*pairs):
    return [ToolResponse(name=name, response=response) for name, response in pairs]


NO_CALLS = Expectation("no_tool_calls")


def replay(expectations, turn, state=None, scripted=(), thresholds=None, **case_fields):
    case = EvalCase(**{"eval_id": "e", "dialect": "ces", **case_fields})
    expected = ExpectedTurn(
        user="q", expectations=list(expectations), scripted_transfers=list(scripted), thresholds=thresholds
    )
    return replayed(case, expected, turn, state)


def replayed(case, expected, turn, state=None):
    return replay_turn(case, expected, turn, state or {}, paired_calls(expected, turn))


def outcomes(expectations, turn, state=None, **fields):
    return [o.outcome for o in replay(expectations, turn, state, **fields).outcomes]


def directive(kind, value):
    return {"$matchType": kind, "$matchValue": value}


ONE_EXPECTATION = [
    # expectation, recorded turn, state, outcome
    (wants_call("a", x=1), Turn(tool_calls=[call("a", x=1)]), {}, "PASS"),
    (wants_call("a", x=1), Turn(tool_calls=[call("a", x=2)]), {}, "FAIL"),
    (wants_call("a"), Turn(tool_calls=[call("a", x=1)]), {}, "PASS"),
    (wants_call("a", x=directive("contains", "b")), Turn(tool_calls=[call("a", x="ac")]), {}, "FAIL"),
    (wants_call("a", x=directive("semantic", "b")), Turn(tool_calls=[call("a")]), {}, "FAIL"),
    (answers("a", {"ok": 1}), Turn(tool_responses=responses(("a", {"ok": 1.0}))), {}, "PASS"),
    (answers("a", {"ok": 1}), Turn(tool_responses=responses(("a", 0), ("a", {"ok": 1}))), {}, "PASS"),
    (says("hi"), Turn(agent="hello"), {}, None),
    (says("hi", "EQUALS"), Turn(agent="Hi"), {}, "FAIL"),
    (hands_over("apps/x/agents/refunds"), Turn(transfers=["apps/y/agents/refunds"]), {}, "FAIL"),
    (hands_over("refunds"), Turn(), {}, "FAIL"),
    (sets(ref="K7", n=1), Turn(), {"ref": "K7", "n": 1.0, "other": 1}, "PASS"),
    (sets(ref="K7"), Turn(), {"ref": "K8"}, "FAIL"),
    (Expectation("mock_tool_response", tool_response=ToolResponse(name="a")), Turn(), {}, "SKIPPED"),
]


@pytest.mark.parametrize(("expectation", "turn", "state", "wanted"), ONE_EXPECTATION)
def test_every_kind_of_expectation_met_and_unmet(expectation, turn, state, wanted):
    assert outcomes([expectation], turn, state)[0] == wanted


SKIPPED = [
    wants_call("a", skip=True, x=1),
    says("hi", "EQUALS", skip=True),
    sets(skip=True, x=1),
    Expectation("no_tool_calls", skip=True),
]


@pytest.mark.parametrize("turn", [None, Turn(agent="x", tool_calls=[call("a")])])
@pytest.mark.parametrize("expectation", SKIPPED, ids=lambda e: e.kind)
def test_skipped_expectations_are_skipped_whatever_happened(expectation, turn):
    assert outcomes([expectation], turn)[0] == "SKIPPED"


def test_a_skipped_call_is_neither_extra_nor_counted():
    found = replay([wants_call("a", skip=True, x=1)], Turn(tool_calls=[call("a", x=2)]))
    assert [o.outcome for o in found.outcomes] == ["SKIPPED"]
    assert (found.tool_score, found.ordered_score, found.tool_outcome) == (None, None, None)
    found = replay([wants_call("a", skip=True), wants_call("b")], Turn(tool_calls=[call("b")]))
    assert (found.tool_score, found.ordered_score, found.tool_outcome) == (1.0, 1.0, "PASS")


def test_a_missing_turn_fails_what_it_should_have_brought():
    wanted = [wants_call("a"), says("x"), hands_over("b"), answers("a", 1)]
    assert outcomes(wanted, None) == ["FAIL"] * 4
    assert replay(wanted, None).tool_score == 0.0


SCORES = [
    # expected tools, called tools, score, ordered score
    ("a", "a", 1.0, 1.0),
    ("a b", "b a", 1.0, 0.5),
    ("a b", "", 0.0, 0.0),
    ("a a", "a", 0.5, 0.5),
    ("a b c", "a x b y c", 1.0, 1.0),
    ("a b c", "b c", 2 / 3, 2 / 3),
]


@pytest.mark.parametrize(("expected", "called", "score", "ordered"), SCORES)
def test_tool_scores_of_a_turn(expected, called, score, ordered):
    turn = Turn(tool_calls=[call(name) for name in called.split()])
    found = replay([wants_call(name) for name in expected.split()], turn)
    assert (found.tool_score, found.ordered_score) == (score, ordered)
    assert found.tool_outcome == ("PASS" if score == 1.0 else "FAIL")


PARAMETER_GATES = [
    # case's gate, expectation's gate, matching of 4, outcome
    (1.0, None, 4, "PASS"),
    (0.75, None, 3, "PASS"),
    (1.0, 0.75, 2, "FAIL"),
    (0.0, 1.0, 3, "FAIL"),
]


@pytest.mark.parametrize(("case_gate", "own", "matching", "wanted"), PARAMETER_GATES)
def test_the_nearest_parameter_threshold_wins(case_gate, own, matching, wanted):
    args = {str(i): i for i in range(4)}
    made = {key: value if value < matching else -1 for key, value in args.items()}
    case = EvalCase(eval_id="e", dialect="ces", thresholds=CaseThresholds(parameter=case_gate))
    expected = ExpectedTurn(expectations=[wants_call("a", threshold=own, **args)])
    found = replayed(case, expected, Turn(tool_calls=[call("a", **made)]))
    assert found.outcomes[0].parameters.matched == matching
    assert (found.outcomes[0].outcome, found.outcomes[0].parameter_outcome) == (wanted, wanted)
    assert found.tool_outcome == "PASS"


@pytest.mark.parametrize(
    ("dialect", "behaviour", "wanted"),
    [("ces", "FAIL", "FAIL"), ("ces", "ALLOW", "SKIPPED"), ("adk", "FAIL", "SKIPPED")],
)
def test_extra_calls(dialect, behaviour, wanted):
    case = EvalCase(eval_id="e", dialect=dialect, thresholds=CaseThresholds(extra_tool_calls=behaviour))
    expected = ExpectedTurn(expectations=[wants_call("a")])
    found = replayed(case, expected, Turn(tool_calls=[call("b"), call("a"), call("a")]))
    assert [o.outcome for o in found.outcomes] == ["PASS", wanted, wanted]
    extra = found.outcomes[1:]
    assert [(o.expectation, o.observed.name, o.observed_as) for o in extra] == [
        (None, "b", "tool_call"),
        (None, "a", "tool_call"),
    ]
    assert found.tool_score == 1.0


@pytest.mark.parametrize(("behaviour", "wanted"), [("FAIL", "FAIL"), ("ALLOW", "SKIPPED")])
def test_an_answer_that_nobody_expected(behaviour, wanted):
    case = EvalCase(eval_id="e", dialect="ces", thresholds=CaseThresholds(unexpected_response=behaviour))
    expected = ExpectedTurn(expectations=[NO_CALLS])
    found = replayed(case, expected, Turn(agent_messages=["one", "two"], agent="one\ntwo"))
    assert [(o.outcome, o.observed) for o in found.outcomes] == [
        ("PASS", None),
        (wanted, "one"),
        (wanted, "two"),
    ]


TRANSFERS = [
    # expected, scripted, observed, outcomes
    ([], [], ["b"], ["FAIL"]),
    ([], ["apps/x/agents/b"], ["b"], []),
    (["b"], [], ["c"], ["FAIL", "FAIL"]),
    (["b"], [], ["c", "b"], ["PASS", "FAIL"]),
]


@pytest.mark.parametrize(("expected", "scripted", "observed", "wanted"), TRANSFERS)
def test_transfers(expected, scripted, observed, wanted):
    found = outcomes([hands_over(agent) for agent in expected], Turn(transfers=observed), scripted=scripted)
    assert found == wanted


def test_other_dialects_do_not_mind_transfers_and_answers():
    turn = Turn(agent="hi", transfers=["b"])
    assert outcomes([NO_CALLS], turn, dialect="adk") == ["PASS"]


def test_payloads_are_skipped():
    found = replay([NO_CALLS], Turn(payloads=[{"card": 1}]))
    assert [(o.outcome, o.observed, o.observed_as) for o in found.outcomes[1:]] == [
        ("SKIPPED", {"card": 1}, "payload")
    ]


SWITCHES = [
    (
        {"step_tool_correctness_enabled": False},
        wants_call("a", x=1),
        Turn(tool_calls=[call("a", x=2)]),
        "PASS",
    ),
    ({"step_tool_correctness_enabled": False}, wants_call("a", x=1), Turn(), "FAIL"),
    ({"similarity_enabled": False}, says("hi"), Turn(agent="hello"), "SKIPPED"),
    ({"similarity_enabled": False}, says("hi", "EQUALS"), Turn(agent="hello"), "FAIL"),
]


@pytest.mark.parametrize(("fields", "expectation", "turn", "wanted"), SWITCHES)
def test_switches(fields, expectation, turn, wanted):
    assert outcomes([expectation], turn, **fields) == [wanted]


def test_the_parameter_gate_is_shown_even_where_it_does_not_decide():
    found = replay(
        [wants_call("a", x=1)], Turn(tool_calls=[call("a", x=2)]), step_tool_correctness_enabled=False
    )
    assert found.outcomes[0].parameter_outcome == "FAIL"


RESPONSES_OF_ONE_TURN = [
    # expected (text, comparison), said, outcomes
    ([("A", "CONTAINS"), ("B", "CONTAINS")], ["A and B"], ["PASS", "PASS"]),
    ([("A", "CONTAINS"), ("B", "CONTAINS")], ["A", "C"], ["PASS", "FAIL"]),
    ([("hi", MEANING), ("B", "EQUALS")], ["B", "hello"], [None, "PASS"]),
    ([("hi", "EQUALS")], ["hi", "and more"], ["PASS"]),
    ([("hi", MEANING), ("bye", MEANING)], ["hello and goodbye"], [None, None]),
]


@pytest.mark.parametrize(("expected", "said", "wanted"), RESPONSES_OF_ONE_TURN)
def test_several_expected_responses_in_one_turn(expected, said, wanted):
    turn = Turn(agent_messages=said, agent="\n".join(said) or None)
    assert outcomes([says(*entry) for entry in expected], turn) == wanted


def test_calls_of_one_tool_are_paired_by_their_parameters():
    found = replay(
        [wants_call("a", x=1, y=1), wants_call("a", x=2, y=2)],
        Turn(tool_calls=[call("a", x=2, y=0), call("a", x=1, y=1)]),
    )
    assert [o.observed.args["x"] for o in found.outcomes] == [1, 2]
    assert [o.parameters.value for o in found.outcomes] == [1.0, 0.5]


def test_tools_are_told_apart_by_resource_where_both_have_one():
    one, other = "p/toolsets/s/tools/a", "p/toolsets/t/tools/a"
    wanted = Expectation("tool_call", tool_call=call("a", resource=one))
    assert outcomes([wanted], Turn(tool_calls=[call("a", resource=one)])) == ["PASS"]
    assert outcomes([wanted], Turn(tool_calls=[call("a")])) == ["PASS"]
    assert outcomes([wanted], Turn(tool_calls=[call("a", resource=other)])) == ["FAIL", "FAIL"]


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
    sample, state = Sample(conversation, case, Record("log", 1, b"")), {}
    for pair, change in zip(sample.pairs, changes, strict=True):
        state |= change or {}
        assert sample.state_after(pair) == {name: state[name] for name in ("x", "y") if name in state}


@pytest.mark.parametrize(("gate", "wanted"), [(0.0, "PASS"), (0.1, "FAIL"), (1.0, "FAIL")])
@pytest.mark.parametrize("args", [{}, {"x": 1}])
def test_a_missed_call_is_not_met_whatever_the_gate_of_its_parameters(gate, wanted, args):
    case = EvalCase(eval_id="e", dialect="ces", thresholds=CaseThresholds(parameter=gate))
    found = replayed(case, ExpectedTurn(expectations=[wants_call("a", **args)]), Turn())
    (outcome,) = found.outcomes
    assert (outcome.outcome, outcome.parameters.value, outcome.parameter_outcome) == ("FAIL", 0.0, wanted)
    assert (found.tool_score, found.tool_outcome) == (0.0, "FAIL")
