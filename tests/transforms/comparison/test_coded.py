"""Coded columns, and rows of cases, are what plain lists are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.decisions.comparison.sides import (
    CodedColumn,
    chosen,
    coded,
    common,
    constant,
    distinct_pairs,
    rows_by_case,
    stacked,
)

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


@given(rows=ROWS, kept=KEPT)
def test_other_values_in_place_of_those_of_a_column(rows, kept):
    column = some(rows, kept)
    found = column.recoded(value in "ab" for value in column.values)
    assert [*found] == [value in "ab" for value in column]
    assert len({*found.values}) == len(found.values)


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
    assert [*other] == ["a", "a"] and [*constant("x", 2)] == ["x", "x"]


@given(a=ROWS, b=ROWS, kept=KEPT)
def test_what_two_columns_have_in_common(a, b, kept):
    assert common(coded(a), some(b, kept)) == {*a} & {*some(b, kept)}
    whole = coded([*a, *b])
    own, other = whole.at(np.arange(len(a))), whole.at(np.arange(len(a), len(whole)))
    assert common(own, other) == {*a} & {*b}


@given(rows=ROWS, kept=KEPT, taken=st.lists(st.integers(0, 3), max_size=5))
def test_rows_of_cases(rows, kept, taken):
    column = some(rows, kept)
    cases = rows_by_case(column)
    wanted = [[row for row, name in enumerate(column) if name == value] for value in column.values]
    assert [*cases] == wanted and len(cases) == len(column.values)
    chosen_cases = [place for place in taken if place < len(wanted)]
    own = cases.take(chosen_cases)
    assert [*own] == [wanted[place] for place in chosen_cases]
    assert own.rows.tolist() == [row for place in chosen_cases for row in wanted[place]]


@pytest.mark.parametrize("rows", [[], ["a"]])
def test_a_column_of_few_rows(rows):
    column: CodedColumn[str] = coded(rows)
    assert [*column.compact()] == rows == column.used() and [*rows_by_case(column)] == [[0]][: len(rows)]
