"""`turnwise.testing.assert_conversation`: what passes, what fails, and what the message says.

Each line of `assertions.jsonl` holds a `log` against a `case` by `criteria` or a `config`. Its `message` has
these parts, of which one with ^ begins it and one with $ ends it, and names `once`; without one, it passes.
"""

import doctest
import json
import subprocess
import sys
from typing import Any

import pytest

import turnwise
from tests.tables import lines_beside
from turnwise import testing
from turnwise.pipeline.python.testing.assertion import assert_conversation

CALLS = {"tool_trajectory_avg_score": 1.0}
LINES = lines_beside(__file__, "assertions.jsonl")
FIND = {"name": "find", "args": {"q": "a"}}


def track(order):
    return {"name": "track", "args": {"order": order}}


def log(*calls, agent="Soon", **more):
    turn = {"user": "Where?", "agent": agent, "tool_calls": list(calls)}
    return {"conversation_id": "c1", "turns": [turn], **more}


def case(*calls, **more):
    return {"eval_id": "order", "turns": [{"user": "Where?", "tool_calls": list(calls), **more}]}


def message(*arguments, **named):
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


@pytest.mark.parametrize("name", LINES)
def test_what_is_asserted(name):
    line = LINES[name]
    more = {key: line[key] for key in ("config", "judge", "allow_no_score") if key in line}
    given = (line["log"], line.get("case"), line.get("criteria"))
    if "message" not in line:
        return assert_conversation(*given, **more)
    errors = [AssertionError, TypeError, LookupError, turnwise.ConfigError, turnwise.ReadError]
    error = next(one for one in errors if one.__name__ == line.get("error", "AssertionError"))
    with pytest.raises(error) as raised:
        assert_conversation(*given, **more)
    text = str(raised.value)
    assert all(part in f"^{text}$" for part in line["message"]), text
    assert all(text.count(part) == 1 for part in line.get("once", ())), text


@pytest.mark.usefixtures("unchanged")
def test_a_criterion_that_raises_is_never_let_off():
    class Broken(turnwise.MeasuredCriterion):
        name = "broken"

        def score(self, sample, pair):
            raise ValueError("no such key")

    criteria = {**CALLS, "broken": 1.0}
    for allowed in ([], ["broken"], ["broken", "verdict"]):
        text = message(log(track(8)), case(track(8)), criteria, allow_no_score=allowed)
        assert "broken raised ValueError at turn 1: no such key" in text


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
