from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import stated
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Record
from turnwise.transforms.matching.sample import Sample, stated_case
from turnwise.transforms.metrics.state import Repeats


def repeats(**runs):
    """`a="PPF"` -> three runs of the case a."""
    found = Repeats()
    for eval_id, outcomes in runs.items():
        for letter in outcomes:
            outcome = {"P": "PASS", "F": "FAIL", "-": None, "S": "SKIPPED"}[letter]
            found.add(eval_id, [("c", outcome)])
    return found


def values(figures, name):
    return [pytest.approx(each["value"]) for each in figures[name]]


def test_cases_with_fewer_runs_are_left_out_of_larger_k():
    figures = repeats(a="P", b="F", c="PF", d="PP").figures("c")
    assert values(figures, "pass_hat_k") == [(1 + 0 + 0.5 + 1) / 4, (0 + 1) / 2]
    assert [each["cases"] for each in figures["pass_hat_k"]] == [4, 2]
    all_cases, two = (each["high"] - each["low"] for each in figures["pass_hat_k"])
    assert all_cases < two, "fewer cases are a weaker claim"


@given(st.lists(st.text("PF", min_size=1, max_size=7), min_size=1, max_size=4))
def test_the_estimators_are_the_share_of_choices_of_k_runs(cases):
    figures = repeats(**{f"case{i}": runs for i, runs in enumerate(cases)}).figures("c")
    for k in range(1, max(map(len, cases)) + 1):
        chosen = [list(combinations(runs, k)) for runs in cases if len(runs) >= k]
        hat = sum(sum(set(c) == {"P"} for c in choices) / len(choices) for choices in chosen) / len(chosen)
        at = sum(sum("P" in c for c in choices) / len(choices) for choices in chosen) / len(chosen)
        assert figures["pass_hat_k"][k - 1]["cases"] == len(chosen)
        assert values(figures, "pass_hat_k")[k - 1] == hat
        assert values(figures, "pass_at_k")[k - 1] == at
        n, c = len(cases[0]), cases[0].count("P")
        if len(cases) == 1:
            assert (hat, at) == pytest.approx((comb(c, k) / comb(n, k), 1 - comb(n - c, k) / comb(n, k)))
    assert len(figures["pass_hat_k"]) == max(map(len, cases))


@given(st.lists(st.text("PF", min_size=1, max_size=7), min_size=2, max_size=30), st.randoms())
def test_the_order_of_cases_changes_no_bit(cases, random):
    named = [(f"case{i}", runs) for i, runs in enumerate(cases)]
    first = repeats(**dict(named)).figures("c")
    random.shuffle(named)
    assert repeats(**dict(named)).figures("c") == first


def test_the_intervals_hold_the_value_and_narrow_with_more_cases():
    few, many = (repeats(**{f"c{i}": "PF" for i in range(n)}).figures("c")["pass_hat_k"][0] for n in (4, 40))
    assert 0 <= few["low"] < many["low"] < 0.5 < many["high"] < few["high"] <= 1
    sure = repeats(a="PP", b="PP").figures("c")["pass_hat_k"][1]
    assert (sure["value"], sure["high"]) == (1.0, 1.0) and sure["low"] < 0.5


@pytest.mark.parametrize("runs", [{}, {"a": "--"}, {"a": "S-"}])
def test_without_a_decided_run_there_are_no_figures(runs):
    assert repeats(**runs).figures("c") is None


def test_what_is_not_decided_is_no_run():
    assert repeats(a="P-F").figures("c")["runs"] == 2
    assert repeats(a="PF").figures("other") is None


def test_k_ends_at_a_hundred():
    figures = repeats(a="P" * 150).figures("c")
    assert (figures["runs"], len(figures["pass_hat_k"])) == (150, 100)


@stated("run of", "fields, wanted")
def test_the_case_that_a_conversation_is_a_run_of(fields, wanted):
    conversation = Conversation(conversation_id="c", **fields)
    assert stated_case(conversation) == wanted
    for case in (None, EvalCase(eval_id="full/name")):
        found = Sample(conversation, case, Record("f", 1, b"")).run_of
        assert found == ("\0full/name" if case and wanted else None)


def test_runs_of_one_id_in_two_sets_are_runs_of_two_cases():
    conversation = Conversation(conversation_id="c", eval_id="e")
    cases = [EvalCase(eval_id="e", eval_set_id=name) for name in (None, "a", "b")]
    found = {Sample(conversation, case, Record("f", 1, b"")).run_of for case in cases}
    assert len(found) == 3
