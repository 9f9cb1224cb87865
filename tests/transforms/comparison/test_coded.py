"""Coded columns, and rows of cases, are what plain lists are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.comparison.case_rows import rows_by_case
from turnwise.transforms.comparison.coded import (
    CodedColumn,
    chosen,
    coded,
    coded_objects,
    constant,
    distinct_pairs,
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


def test_objects_are_told_apart_by_identity():
    one, other = {"a": 1}, {"a": 1}
    column = coded_objects([one, other, one])
    assert column.values == [one, other] and column.places.tolist() == [0, 1, 0]
    column.put(2, {"b": 2})
    assert [*column] == [one, other, {"b": 2}] and [*constant("x", 2)] == ["x", "x"]


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
