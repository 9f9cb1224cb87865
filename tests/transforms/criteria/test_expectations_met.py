import pytest

from tests.samples import scores_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, ToolCall, Turn
from turnwise.transforms.criteria.base import CRITERIA


def scored(case, *turns, **fields):
    """Scores turns (or what an agent said) against a case."""
    made = [turn if isinstance(turn, Turn) else Turn(agent=turn) for turn in turns]
    return scores_of(CRITERIA["expectations_met"](), case, *made, **fields)


def wants(*texts, **fields):
    return EvalCase(eval_id="e", outputs=list(texts), **fields)


@pytest.mark.parametrize(
    ("outputs", "said", "value"),
    [
        (["23553"], ["The total is $23,553."], 1.0),
        (["23553"], ["The total is 1235530."], 0.0),
        (["1"], ["There are 21 bags."], 0.0),
        (["327", "1000", "1786"], ["$327.00, then $1,000", "in all 1,786 USD"], 1.0),
        (["327", "1000", "1786"], ["$327.00, then $1,000", "in all 1,785 USD"], 2 / 3),
        (["2024-05-20", "no fee"], ["On May 20, 2024 there is NO fee"], 1.0),
        (["hello"], [], 0.0),
    ],
)
def test_texts_that_must_have_been_said(outputs, said, value):
    overall = scored(wants(*outputs), *said).overall
    assert overall.value == pytest.approx(value)
    assert overall.outcome == ("PASS" if value == 1.0 else "FAIL")


@pytest.mark.parametrize(
    ("case", "conversation", "value"),
    [(None, "de", 1.0), ("de", None, 1.0), ("de-DE", "en", 0.0), ("en", None, 0.0), (None, None, 0.0)],
)
def test_numbers_are_read_in_the_language_of_the_conversation(case, conversation, value):
    golden = wants("2.5", language=case)
    assert scored(golden, "Es sind 2,5 kg.", language=conversation).overall.value == value


def test_what_was_said_by_the_way_counts():
    turn = Turn(agent="Bye!", agent_messages=["That makes $5.", "Bye!"])
    assert scored(wants("5"), turn).overall.value == 1.0


def test_the_row_tells_what_was_wanted_and_what_was_said():
    overall = scored(wants("23553", "Bye"), "Hello! The total is $23,554. Bye.").overall
    assert overall.details["checks"] == [
        {"kind": "agent_response", "outcome": "FAIL", "wanted": "23553", "observed": "The total is $23,554."},
        {"kind": "agent_response", "outcome": "PASS", "wanted": "Bye"},
    ]
    assert overall.explanation == (
        "1 of 2 expectations met. Not met: “23553” was not said, said instead: “The total is $23,554.”."
    )
    assert (
        "“The total is 24.”" in scored(wants("25"), "The total is 23. The total is 24.").overall.explanation
    )
    assert "the agent said nothing" in scored(wants("x")).overall.explanation
    assert scored(wants("5"), "5").overall.explanation == "1 of 1 expectation met."


def test_what_is_told_is_bounded():
    overall = scored(wants(*(f"{i} {'x' * 10_000}" for i in range(50))), "word " * 10_000).overall
    assert len(overall.explanation) < 1_500
    assert "and 47 more" in overall.explanation
    assert all(len(check["wanted"]) + len(check["observed"]) < 400 for check in overall.details["checks"])


def golden(*expectations):
    return ExpectedTurn(user="u", expectations=list(expectations))


def test_the_row_of_a_turn_tells_what_was_wanted():
    turn = golden(
        Expectation("agent_response", text="hi", comparison="EQUALS"),
        Expectation("agent_transfer", target_agent="billing"),
        Expectation("no_tool_calls"),
    )
    result = scored(EvalCase(eval_id="e", turns=[turn]), Turn(agent="ho", tool_calls=[ToolCall("a", {})]))
    assert [(c["wanted"], c["observed"]) for c in result.turns[0][1].details["checks"]] == [
        ("hi", "ho"),
        ("billing", None),
        (None, None),
    ]
    assert result.turns[0][1].explanation == (
        "0 of 3 expectations met. Not met: “hi” was not said, said instead: “ho”; agent_transfer billing;"
        " a tool was called where none was to be."
    )


def test_texts_that_were_said_do_not_hide_what_a_turn_lacks():
    turn = golden(Expectation("agent_response", text="hi", comparison="EQUALS"))
    result = scored(EvalCase(eval_id="e", turns=[turn], outputs=["ho"]), Turn(user="u", agent="ho"))
    assert (result.overall.value, result.overall.outcome) == (0.5, "FAIL")


@pytest.mark.parametrize("gap", ["unknown_words", "unknown_calls"])
@pytest.mark.parametrize("said", ["5", "6"])
def test_what_the_log_does_not_show_leaves_it_without_a_score(gap, said):
    turns = [Turn(agent="Hello"), Turn(agent=said, **{gap: "a part of type x is not read"})]
    overall = scored(wants("5"), *turns).overall
    assert (overall.value, overall.outcome) == (None, None)
    assert "a part of type x is not read" in overall.reason


def test_blank_texts_are_no_expectation():
    assert scored(wants("", "  "), "x").overall is None
    assert scored(wants("", "x"), "x").overall.details["checks"][0]["wanted"] == "x"
