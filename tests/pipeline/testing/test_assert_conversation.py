"""`turnwise.testing.assert_conversation`: what passes, what fails, and what the message says."""

import doctest
import json
import subprocess
import sys
from typing import Any

import pytest

import turnwise
from turnwise import testing
from turnwise.pipeline.python.testing.assertion import assert_conversation

CALLS = {"tool_trajectory_avg_score": 1.0}
MATCH = {"final_response_match_v2": 0.5}
FIND = {"name": "find", "args": {"q": "a"}}


def track(order: int) -> dict[str, Any]:
    return {"name": "track", "args": {"order": order}}


def log(*calls: Any, agent: str | None = "Soon", **more: Any) -> dict[str, Any]:
    turn = {"user": "Where?", "agent": agent, "tool_calls": list(calls)}
    return {"conversation_id": "c1", "turns": [turn], **more}


def case(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"eval_id": "order", "turns": [{"user": "Where?", "tool_calls": list(calls), **more}]}


def message(*arguments: Any, **named: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        assert_conversation(*arguments, **named)
    return str(raised.value)


def test_what_passes_is_silent(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log(FIND, track(8))))
    (conversation,) = turnwise.read_conversations(path)
    (golden,) = turnwise.read_cases(case(FIND, track(8)))
    for given in (log(FIND, track(8)), path, str(path), conversation):
        for held in (case(FIND, track(8)), golden):
            assert_conversation(given, held, CALLS)
    assert conversation.eval_id is None


def test_a_failure_names_criterion_value_threshold_and_why():
    text = message(log(FIND, track(7)), case(FIND, track(8)), CALLS)
    lines = text.splitlines()
    assert lines[:2] == [
        "conversation c1, eval case order: FAIL",
        "  tool_trajectory_avg_score: 0, threshold at least 1",
    ]
    assert "Missing: track(order: 8). Not expected: track(order: 7)." in lines[2]
    assert lines[3] == "  calls of turn 1: made == expected"
    assert "    At index 1 diff: track(order=7) != track(order=8)" in lines


@pytest.mark.parametrize(
    ("fields", "made", "wanted", "difference"),
    [
        # What a matcher ignores is no difference.
        (
            {"argument_matchers": {"track": {"order": "ignore"}}},
            [track(7), FIND],
            [track(8)],
            'Left contains one more item: find(q="a")',
        ),
        # Where order does not count, it is no difference.
        (
            {"match_type": "ANY_ORDER"},
            [track(8), FIND],
            [FIND, track(8), track(9)],
            "Right contains one more item: track(order=9)",
        ),
        ({}, [track(8), FIND], [FIND, track(8)], 'At index 0 diff: track(order=8) != find(q="a")'),
    ],
)
def test_calls_are_compared_as_the_criterion_does(fields, made, wanted, difference):
    criteria = {"tool_trajectory_avg_score": {"threshold": 1.0, **fields}}
    assert difference in message(log(*made), case(*wanted), criteria)


def test_calls_of_the_whole_conversation_are_compared():
    text = message(log(track(7), expected={"actions": [track(8)]}), criteria=CALLS)
    assert "calls of the whole conversation: made == expected" in text
    assert "track(order=7) != track(order=8)" in text


def test_the_rules_of_a_case_decide_beside_the_criteria():
    golden = {
        "name": "projects/p/locations/l/apps/a/evaluations/e",
        "displayName": "e",
        "golden": {
            "turns": [
                {
                    "steps": [
                        {"userInput": {"text": "Where?"}},
                        {"expectation": {"toolCall": {"tool": "track", "args": {"order": 8}}}},
                    ]
                }
            ]
        },
    }
    config = {"ces": {"unexpected_response": "ALLOW"}, "criteria": {"turn_latency": 2.0}}
    fast, slow = log(track(8)), log(track(8))
    fast["turns"][0]["latency_ms"], slow["turns"][0]["latency_ms"] = 1000, 5000
    assert_conversation(fast, golden, config=config)
    assert ": no verdict\n" in message(log(track(8)), golden, config=config)
    text = message(log(track(7)), golden, config=config)
    assert text.startswith("conversation c1, eval case projects/") and ": FAIL\n" in text
    assert "turn 1: Not met: tool_call track(order: 8.0)" in text and "track(order=7) != track(" in text
    assert "Answer not expected: “Soon”." in message(log(track(8)), golden, {"turn_latency": 2.0})
    # A threshold that is missed fails although the case's own rules do not know it.
    assert "turn_latency: 5 s, threshold at most 2 s" in message(slow, golden, config=config)


def test_no_verdict_fails_with_its_reason():
    golden = case(track(8), response="Soon")
    text = message(log(track(8)), golden, {**CALLS, **MATCH}, judge="none")
    assert text.startswith(
        "conversation c1, eval case order: no verdict\n  final_response_match_v2: no score,"
    )
    assert text.endswith("turn 1: no score, threshold at least 0.5: no judge configured")
    assert text.count("no judge") == 1
    assert "no criterion with a threshold applies" in message(log())
    assert "no criterion with a threshold applies" in message(log(), criteria={"turn_latency": {}})


def test_what_may_have_no_verdict_is_named():
    golden = case(track(8), response="Soon")
    both = {**CALLS, **MATCH}
    allowed = {"judge": "none", "allow_no_score": ("final_response_match_v2",)}
    assert_conversation(log(track(8)), golden, both, **allowed)
    # What fails still fails, and so does a verdict that nothing decides.
    assert "tool_trajectory_avg_score: 0" in message(log(track(7)), golden, both, **allowed)
    assert "no criterion with a threshold applies" in message(log(track(8)), golden, MATCH, **allowed)
    assert_conversation(log(), criteria={"turn_latency": {}}, allow_no_score={"verdict"})
    assert "FAIL" in message(log(track(7)), golden, CALLS, allow_no_score=["verdict"])


def test_an_allowance_is_a_name_of_this_check():
    with pytest.raises(turnwise.ConfigError, match="allow_no_score: final_respons: it can be "):
        assert_conversation(log(), None, MATCH, judge="none", allow_no_score=["final_respons"])
    with pytest.raises(TypeError, match="allow_no_score: a collection"):
        assert_conversation(log(), None, MATCH, allow_no_score="final_response_match_v2")


@pytest.mark.usefixtures("unchanged")
def test_a_criterion_that_raises_is_never_let_off():
    class Broken(turnwise.MeasuredCriterion):
        name = "broken"

        def score(self, sample: Any, pair: Any) -> Any:
            raise ValueError("no such key")

    criteria = {**CALLS, "broken": 1.0}
    for allowed in ([], ["broken"], ["broken", "verdict"]):
        text = message(log(track(8)), case(track(8)), criteria, allow_no_score=allowed)
        assert "broken raised ValueError at turn 1: no such key" in text


def test_what_cannot_be_read_is_an_error():
    for bad in ({"no": "log"}, {"conversation_id": "c1", "turns": []}):
        with pytest.raises(turnwise.ReadError):
            assert_conversation(bad, case(), CALLS)
    with pytest.raises(turnwise.ReadError):
        assert_conversation(log(), {"no": "case"}, CALLS)
    with pytest.raises(turnwise.ConfigError, match="no such file"):
        assert_conversation("nowhere.json", case(), CALLS)
    with pytest.raises(LookupError, match="no eval case is called 'other'"):
        assert_conversation(log(eval_id="other"), case(), CALLS)
    with pytest.raises(turnwise.ConfigError, match="unknown criterion"):
        assert_conversation(log(), case(), {"tool_trajectory": 1.0})


@pytest.mark.parametrize(("conversations", "number"), [(2, 2), (0, 0)])
def test_one_conversation_is_needed(conversations, number, tmp_path):
    path = tmp_path / "logs.json"
    path.write_text(json.dumps([{**log(), "conversation_id": f"c{i}"} for i in range(conversations)]))
    with pytest.raises(ValueError, match=f"conversation: one is needed, and this holds {number}"):
        assert_conversation(path, case(), CALLS)


def test_without_pytest_the_difference_is_told_too():
    code = f"""
import sys, unittest
from turnwise.testing import assert_conversation
assert "pytest" not in sys.modules and "apache_beam" not in sys.modules
try:
    assert_conversation({log(track(7))!r}, {case(track(8))!r}, {CALLS!r})
except AssertionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "- track(order=8)" in lines and "+ track(order=7)" in lines


@pytest.mark.parametrize("name", ["", *testing.__all__])
def test_every_name_has_an_example_that_works(name):
    assert testing.__all__ == sorted(testing.__all__)
    thing: Any = getattr(testing, name) if name else testing
    example = doctest.DocTestParser().get_doctest(thing.__doc__, {}, name or "testing", None, None)
    printed: list[str] = []
    assert example.examples and doctest.DocTestRunner().run(example, out=printed.append).failed == 0, printed
