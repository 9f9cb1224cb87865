from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwise.transforms.matching.alignment import best_assignment, count_matches, equal_matches


def weight_matrices(weight):
    sizes = st.tuples(st.integers(0, 5), st.integers(0, 5))
    return sizes.flatmap(
        lambda size: st.lists(
            st.lists(weight, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
        )
    )


def all_assignments(rows, columns):
    places = [*range(columns), *[None] * rows]
    return {tuple(order) for order in permutations(places, rows)} if rows else {()}


def total(weights, partners):
    return sum(weights[i][j] for i, j in enumerate(partners) if j is not None)


def best_total(weights):
    columns = len(weights[0]) if weights else 0
    return max(
        total(weights, partners)
        for partners in all_assignments(len(weights), columns)
        if all(j is None or weights[i][j] > 0 for i, j in enumerate(partners))
    )


def assert_one_to_one(partners, rows, columns):
    used = [j for j in partners if j is not None]
    assert len(partners) == rows
    assert len(used) == len(set(used))
    assert all(0 <= j < columns for j in used)


@given(weight_matrices(st.integers(-1, 4).map(lambda n: n / 2)))
@example([[1.5, 2.0], [0.0, 2.0]])
@example([[-5.0, -1.0], [-1.0, -5.0]])
def test_best_assignment_is_as_good_as_the_best_of_all(weights):
    partners = best_assignment(weights)
    assert_one_to_one(partners, len(weights), len(weights[0]) if weights else 0)
    assert all(j is None or weights[i][j] > 0 for i, j in enumerate(partners))
    assert total(weights, partners) == pytest.approx(best_total(weights), abs=1e-9)


@given(weight_matrices(st.floats(0.01, 2.0)))
def test_best_assignment_pairs_as_many_as_it_can_where_everything_fits(weights):
    columns = len(weights[0]) if weights else 0
    assert best_assignment(weights).count(None) == max(0, len(weights) - columns)


TIES = [
    ([[1.0, 1.0], [1.0, 1.0]], [0, 1]),
    ([[1.0, 1.0, 1.0]], [0]),
    ([[0.0, 0.0]], [None]),
    ([], []),
    ([[1.0, 2.0], [1.0, 2.0]], [0, 1]),
]


@pytest.mark.parametrize(("weights", "wanted"), TIES)
def test_ties_go_by_order(weights, wanted):
    assert best_assignment(weights) == wanted


def matching_size(fits):
    columns = len(fits[0]) if fits else 0
    return max(
        sum(j is not None for j in partners)
        for partners in all_assignments(len(fits), columns)
        if all(j is None or fits[i][j] for i, j in enumerate(partners))
    )


@given(weight_matrices(st.booleans()))
@example([[True, True], [True, False]])
def test_count_matches_finds_a_maximum_matching(fits):
    columns = len(fits[0]) if fits else 0
    partners = count_matches(range(len(fits)), range(columns), lambda i, j: fits[i][j])
    assert_one_to_one(partners, len(fits), columns)
    assert all(j is None or fits[i][j] for i, j in enumerate(partners))
    assert sum(j is not None for j in partners) == matching_size(fits)


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_with_plain_equality_it_is_the_common_multiset(expected, actual):
    matched = [j for j in count_matches(expected, actual, int.__eq__) if j is not None]
    common = sum(min(expected.count(n), actual.count(n)) for n in range(4))
    assert len(matched) == common


EQUALS = [
    ("ab", "ba", [1, 0]),
    ("aaa", "a", [0, None, None]),
    ("ab", "", [None, None]),
    ("", "ab", []),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), EQUALS)
def test_equal_elements_are_paired_in_order(expected, actual, wanted):
    assert equal_matches(expected, actual) == wanted


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_equal_elements_are_paired_as_often_as_can_be(expected, actual):
    partners = equal_matches(expected, actual)
    assert_one_to_one(partners, len(expected), len(actual))
    assert all(j is None or expected[i] == actual[j] for i, j in enumerate(partners))
    wanted = count_matches(expected, actual, int.__eq__)
    assert len(partners) - partners.count(None) == len(wanted) - wanted.count(None)


def test_a_chain_of_thousands_is_moved_along():
    """Every element prefers the next place; the last one makes all the others step back."""
    size = 2000
    fits = [{i, i + 1} for i in range(size - 1)] + [{size - 1}]
    order = [*range(1, size), 0]
    expected = [fits[i] for i in order]
    partners = count_matches(expected, range(1, size), lambda want, place: place in want)
    assert partners.count(None) == 1
    assert_one_to_one(partners, size, size - 1)
