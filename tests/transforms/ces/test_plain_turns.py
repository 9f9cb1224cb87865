from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedTurn, ToolCall, Turn, TurnThresholds
from turnwise.schemas.record import Record
from turnwise.transforms.ces.plain_turns import plain_turn
from turnwise.transforms.ces.results import RunInfo, evaluation_result
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.conversation import ScoredConversation
from turnwise.transforms.scoring.verdict import Verdict

RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")
TEXTS = st.sampled_from([None, "", "hello", "good morning"])
CALLS = st.builds(
    ToolCall,
    name=st.sampled_from([None, "a", "b"]),
    args=st.sampled_from(
        [None, {}, {"x": 1}, {"x": 1, "y": [1, {}]}, {"x": True}, {"x": {"$matchType": "ignore"}}]
    ),
    id=st.sampled_from([None, "1"]),
    resource=st.sampled_from([None, "p/tools/a", "p/toolsets/s/tools/a"]),
)
CASES = st.builds(
    EvalCase,
    eval_id=st.just("e"),
    dialect=st.sampled_from(["adk", "turnwise"]),
    thresholds=st.builds(CaseThresholds, tool_invocation=st.sampled_from([0.0, 1.0])),
    similarity_enabled=st.booleans(),
    tool_correctness_enabled=st.booleans(),
    step_tool_correctness_enabled=st.booleans(),
)
PAYLOAD = {"shown": "card"}


@st.composite
def turns(draw):
    """A golden turn and a recorded one that often has the same calls and words."""
    wanted, response = draw(st.lists(CALLS, max_size=3)), draw(TEXTS)
    made = draw(st.just(wanted) | st.lists(CALLS, max_size=3))
    said = draw(st.just(response) | TEXTS)
    messages = draw(
        st.just([]) | st.just([""]) | st.just([said] if said else []) | st.lists(st.just("hello"), max_size=2)
    )
    thresholds = draw(st.none() | st.builds(TurnThresholds, tool_invocation=st.sampled_from([None, 0.5])))
    expected = ExpectedTurn(
        response=response, tool_calls=draw(st.just(wanted) | st.none()), thresholds=thresholds
    )
    transfers = draw(st.lists(st.just("b"), max_size=1))
    return expected, Turn(agent=said, agent_messages=messages, tool_calls=made, transfers=transfers)


def replayed(case, expected, actual):
    case = replace(case, turns=[expected])
    matched = Sample(Conversation(conversation_id="c", turns=[actual]), case, Record("f", 1, b""))
    result = evaluation_result(ScoredConversation(matched, [], []), Verdict(None), RUN)
    (turn,) = result["goldenResult"]["turnReplayResults"]
    return turn


@given(CASES, turns())
@example(EvalCase(eval_id="e"), (ExpectedTurn(response="hello"), Turn(agent="hello", agent_messages=["bye"])))
def test_a_plain_turn_gives_what_checking_one_by_one_gives(case, both):
    """A payload is never expected: its own outcome comes last, and all others are checked one by one."""
    expected, actual = both
    checked = replayed(case, expected, replace(actual, payloads=[PAYLOAD]))
    assert checked["expectationOutcome"].pop() == {"observedPayload": PAYLOAD, "outcome": "SKIPPED"}
    if not checked["expectationOutcome"]:
        del checked["expectationOutcome"]
    assert replayed(case, expected, actual) == checked


def test_which_turns_are_plain():
    case, call = EvalCase(eval_id="e"), ToolCall(name="a", args={"x": 1})
    expected = ExpectedTurn(response="hi", tool_calls=[call])
    assert plain_turn(case, expected, Turn(agent="hello", tool_calls=[call])) is not None
    assert plain_turn(case, expected, Turn(agent="hello", tool_calls=[call], payloads=[PAYLOAD])) is None
    assert plain_turn(case, expected, Turn(tool_calls=[call, call])) is not None
    ces = replace(case, dialect="ces")
    assert plain_turn(ces, expected, Turn(agent="hello", tool_calls=[call])) is None
