"""Patterns of users: what they match, what is refused, and that none of them can stop a run."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnwise
from turnwise.transforms.text.cleaning import EMPTY, INSIDE, OUTSIDE, TextRange, Utf8Text
from turnwise.transforms.text.patterns import (
    check_glob,
    checked_pattern,
    glob_matches,
    path_glob_matches,
    pattern_found,
)

ENDLESS = ["(a+)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y"]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_that_never_ends_in_other_engines_ends(pattern):
    assert pattern_found(pattern, "a" * 100_000 + "!") is False


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "a{1,2000}", r"((\pL{100}){100}){10}"])
def test_what_the_engine_cannot_do_is_refused_in_one_line(pattern):
    with pytest.raises(ValueError, match="not a regular expression of RE2") as error:
        checked_pattern(pattern)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["K-123456", "no: K-12\udc80", "Straße é 日本"])
def test_a_pattern_is_looked_for_anywhere(text):
    assert pattern_found("K-[0-9]{6}", text) == ("123456" in text)
    assert pattern_found(r"\pL", text)


@given(st.text("ab*?[]!^.\\é\n", max_size=8), st.text("ab[]!^.\\é\n", max_size=5))
def test_a_glob_of_names_matches_as_in_a_shell(glob, name):
    assert glob_matches(glob, name) == fnmatchcase(name, glob)


def test_stars_of_paths_and_many_stars():
    assert path_glob_matches("a/*.jsonl", "a/b.jsonl") and not path_glob_matches("a/*.jsonl", "a/b/c.jsonl")
    assert path_glob_matches("a/**.jsonl", "a/b/c.jsonl")
    assert not glob_matches("*a" * 200 + "b", "a" * 10_000)
    with pytest.raises(ValueError, match="not a glob"):
        check_glob("[z-a]")


PAY = {"name": "pay", "args": {"memo": "a" * 50 + "!"}}
NAME = "projects/p/locations/l/apps/a/evaluations/e1"


def golden(pattern):
    wanted = {"tool": "pay", "args": {"memo": {"$matchType": "regexp", "$matchValue": pattern}}}
    steps = [{"userInput": {"text": "hi"}}, {"expectation": {"toolCall": wanted}}]
    return {"name": NAME, "displayName": "e1", "golden": {"turns": [{"steps": steps}]}}


def log(expected):
    turn = {"user": "hi", "tool_calls": [PAY]}
    return {"conversation_id": "c1", "turns": [turn | expected]}


def test_patterns_of_cases_and_of_the_config_decide():
    for pattern, status in (("(a+)+$", "FAIL"), ("(a+)+!$", "PASS")):
        assert turnwise.evaluate(log({}) | {"eval_id": "e1"}, cases=golden(pattern)).status == status
        expected = {"expected": {"tool_calls": [{"name": "pay", "args": {"memo": pattern}}]}}
        criterion = {"threshold": 1.0, "argument_matchers": {"pay": {"memo": "regexp"}}}
        criteria = {"tool_trajectory_avg_score": criterion}
        assert turnwise.evaluate(log(expected), criteria=criteria).status == status


def test_a_pattern_that_is_refused_is_no_pass_and_names_its_place():
    result = turnwise.evaluate(log({}) | {"eval_id": "e1"}, cases=golden("(?=a)"))
    assert result.status is None
    assert any("(?=a)" in failure["message"] for failure in result.failures)
    with pytest.raises(turnwise.ConfigError, match=r"tools: not a glob: '\[z-a\]'"):
        turnwise.evaluate(log({}), config=turnwise.EvalConfig(tools={"[z-a]": "read"}))
    mapping = {"turns": "[" * 9_000 + "a" + "]" * 9_000, "conversation_id": "id"}
    with pytest.raises(ValueError, match="nests too deeply"):
        turnwise.EvalConfig(mapping=mapping)


PIECES = [
    *("a", "ß", "Gepäck ", "한국어", "中", "\n"),
    *("\u1112\u1161\u11ab", "🧳", "👩\u200d👧", "e\u0301", "\u0308"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3) | st.just("\ud800"), max_size=12).map("".join)
LONG = st.tuples(st.sampled_from(PIECES), st.integers(300, 1200), TEXTS).map(lambda p: p[0] * p[1] + p[2])


@settings(deadline=None)
@given(TEXTS | LONG, st.data())
def test_a_range_of_characters_comes_back(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    before, marked = (t.encode("utf-8", "surrogatepass") for t in (text[:start], text[start:end]))
    place = Utf8Text(text).text_range(len(before), len(before) + len(marked))
    assert place == (TextRange(start, end) if start < end else TextRange(None, None, EMPTY))


@settings(deadline=None)
@given(TEXTS | LONG, st.integers(-3, 5000), st.integers(-3, 5000))
def test_a_range_is_valid_exactly_if_it_can_be_decoded(text, start, end):
    utf8 = Utf8Text(text)
    place, data = utf8.text_range(start, end), text.encode("utf-8", "surrogatepass")
    if not (0 <= start <= len(data) and 0 <= end <= len(data)):
        assert place.problem == OUTSIDE
        return
    try:
        whole = [data[:cut].decode("utf-8", "surrogatepass") for cut in (start, end)]
    except UnicodeDecodeError:
        assert place.problem == INSIDE
        return
    assert place == (TextRange(*map(len, whole)) if start < end else TextRange(None, None, EMPTY))


def test_parts_of_characters_are_replaced():
    assert Utf8Text("Gepäck").cut(4, 7) == "\ufffdck"
