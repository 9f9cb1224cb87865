"""Columns are what plain lists are; counts and means by case, those of a loop over the conversations."""

from itertools import chain
from statistics import fmean

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compared_sides import raised_row
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions, paired_values
from turnwise.transforms.decisions.comparison.side_values import match, measure_of
from turnwise.transforms.decisions.comparison.sides import (
    ComparedSide,
    chosen,
    coded,
    columns_of,
    distinct_pairs,
    empty_column,
    stacked,
)

STATUS, SCORE, LATENCY = "verdict", "response_match_score", "turn_latency"
VALUES = st.sampled_from([None, 0.0, 1.0, -1.0, 0.1, 0.2, 0.30000000000000004])
SCORES = st.builds(Observed, VALUES)
VERDICTS = st.sampled_from([Observed(1.0, "PASS"), Observed(0.0, "FAIL"), Observed(None, None)])
GIVEN = st.fixed_dictionaries({}, optional={STATUS: VERDICTS, SCORE: SCORES, LATENCY: SCORES})


@st.composite
def conversations(draw, side):
    """Conversations of a side."""
    made = draw(st.lists(GIVEN, min_size=1, max_size=4))
    found = []
    for number in range(draw(st.integers(1, 14))):
        one = ComparedConversation(f"{side}{number}", side, draw(st.sampled_from(["x", "y", "z", None])))
        one.criteria = draw(st.sampled_from(made))
        one.sampled_out = frozenset(draw(st.sets(st.sampled_from([STATUS, SCORE]), max_size=1)))
        found.append(one)
    return found


def applies(found, scale):
    return found.value is None or found.outcome or scale is None or scale[0] <= found.value <= scale[1]


def plain_values(found, measure, missing=None):
    seen = [own.criteria[measure.criterion] for own in found if measure.criterion in own.criteria]
    counted = [own for own in seen if applies(own, measure.scale)]
    shares = [{"PASS": 1.0, "FAIL": 0.0}.get(own.outcome) for own in counted]
    values = [own.value for own in counted] if measure.is_of_values else shares
    return [own for own in (missing if value is None else value for value in values) if own is not None]


def plain_pairs(cases, measure, missing):
    """Returns case -> values of A and of B, by the rule that `paired_values` states."""
    found = {}
    for name, sides in cases.items():
        own = [plain_values(side, measure, fill) for side, fill in zip(sides, missing, strict=True)]
        for place, side in enumerate(sides):
            drawn = [one for one in side if measure.criterion not in one.sampled_out]
            if None not in missing and not own[place] and plain_values(sides[1 - place], measure, 0.0):
                own[place] = [missing[place]] * len(drawn)
        if own[0] and own[1]:
            found[name] = own
    return found


@pytest.mark.parametrize("criterion", [STATUS, SCORE, LATENCY])
@given(a=conversations("v1"), b=conversations("v2"))
@settings(max_examples=30, deadline=None)
def test_values_by_case(criterion, a, b):
    given_by = columns_of([*a, *b]).criteria
    measure = measure_of(criterion, [given_by.get(criterion, empty_column(0))], False)
    matched = match(columns_of(a), columns_of(b), "eval_id")
    names = sorted({own.eval_id for own in a} & {own.eval_id for own in b} - {None})
    cases = {name: [[own for own in side if own.eval_id == name] for side in (a, b)] for name in names}
    assert matched.names == names
    for missing in ((None, None), (0.0, 1.0), (0.1, 0.1)):
        found = paired_values(matched, measure, missing)
        wanted = plain_pairs(cases, measure, missing)
        assert found.names == [*wanted]
        for place, runs in enumerate((found.baseline, found.candidate)):
            assert runs.counts.tolist() == [len(own[place]) for own in wanted.values()]
            assert runs.means.tolist() == [fmean(own[place]) for own in wanted.values()]
    for side, own in ((matched.baseline, a), (matched.candidate, b)):
        wanted = len(plain_values(own, measure, 0.0)) - len(plain_values(own, measure))
        assert side.count_missing(measure) == wanted
        by_case = {}
        for one in own:
            by_case.setdefault(one.eval_id or one.conversation_id, []).append(one)
        values = [plain_values(found, measure) for found in by_case.values()]
        assert side.runs_alone(measure).means.tolist() == [fmean(found) for found in values if found]


@given(a=conversations("v1"), b=conversations("v2"))
@settings(max_examples=20, deadline=None)
def test_columns_without_details_are_compared_like_those_with_them(a, b):
    options = CompareOptions(any_verdicts=True, details=False)
    whole, bare = ([ComparedSide("x", "out", columns_of(side), ["run"]) for side in (a, b)] for _ in range(2))
    for column in chain.from_iterable(side.conversations.criteria.values() for side in bare):
        column.details = None
    assert msgspec.json.encode(compare(*whole, options)) == msgspec.json.encode(compare(*bare, options))


def test_an_error_concerns_only_its_conversation():
    criteria = {SCORE: Observed(1.0)}
    made = columns_of([ComparedConversation(f"c{number}", "v1", criteria=criteria) for number in range(3)])
    raised = (("c1", LATENCY, "no clock"), ("c1", LATENCY, "nor sun"), ("c2", SCORE, "is scored"))
    made.add_errors([raised_row(name, "v1", *error) for name, *error in raised])
    error = Observed(why="raised an error: no clock")
    assert [made.given(row, LATENCY) for row in range(3)] == [None, error, None]
    assert [made.given(row, SCORE) for row in range(3)] == [Observed(1.0)] * 3
    assert criteria == {SCORE: Observed(1.0)} and made.given(0, STATUS) is None


ROWS = st.lists(st.sampled_from("abcd"), max_size=12)
KEPT = st.lists(st.booleans(), min_size=12, max_size=12)


def some(rows, kept):
    """Returns the column of some rows, which has values of no row."""
    return coded(rows).at(np.asarray(kept[: len(rows)], np.bool_))


@given(rows=ROWS, kept=KEPT)
def test_a_column_of_some_rows(rows, kept):
    wanted = [row for row, is_kept in zip(rows, kept, strict=False) if is_kept]
    column = some(rows, kept)
    assert [*column] == wanted == [column[row] for row in range(len(column))]
    assert dict(zip(column.values, column.counts().tolist(), strict=True)) == {
        value: wanted.count(value) for value in column.values
    }
    compact = column.compact()
    assert [*compact] == wanted and {*column.used()} == {*wanted}
    assert compact.values == [*dict.fromkeys(wanted)]


@given(parts=st.lists(st.tuples(ROWS, KEPT), max_size=4))
def test_columns_under_each_other(parts):
    columns = [some(*part) for part in parts]
    found = stacked(columns)
    assert [*found] == [value for own in columns for value in own]
    assert len({*found.values}) == len(found.values)


@given(pairs=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("bcd"), st.booleans()), max_size=9))
def test_two_columns_together(pairs):
    a, b = coded(own for own, _, _ in pairs), coded(other for _, other, _ in pairs)
    found = chosen(a, b, np.asarray([is_b for *_, is_b in pairs], np.bool_))
    assert [*found] == [other if is_b else own for own, other, is_b in pairs]
    assert len({*found.values}) == len(found.values)
    places = distinct_pairs(a, b)
    assert places == sorted({*places})
    assert {(a.values[own], b.values[other]) for own, other in places} == {pair[:2] for pair in pairs}


def test_the_value_of_one_row_is_set():
    column = coded("aba")
    other = column.at(np.asarray([0, 2]))
    column.put(2, "b")
    column.put(0, "c")
    column.put(1, "c")
    assert [*column] == ["c", "c", "b"] and column.values == ["a", "b", "c"]
    assert [*other] == ["a", "a"]
