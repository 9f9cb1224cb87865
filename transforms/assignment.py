"""Pairs expected with actual things, as well as possible over all of them together."""

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar

Expected = TypeVar("Expected")
Actual = TypeVar("Actual")

_ORDER_WEIGHT = 1e-9


def count_matches(
    expected: Sequence[Expected], actual: Sequence[Actual], matches: Callable[[Expected, Actual], bool]
) -> list[int | None]:
    """Pairs as many as possible of two lists (maximum bipartite matching by augmenting paths).

    Returns:
        For every expected element the index of its actual partner, or None.
    """
    fitting = [[j for j, other in enumerate(actual) if matches(want, other)] for want in expected]
    owner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j in fitting[i]:
            if j not in tried:
                tried.add(j)
                if j not in owner or place(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    for i in range(len(expected)):
        place(i, set())
    partners = {i: j for j, i in owner.items()}
    return [partners.get(i) for i in range(len(expected))]


def best_assignment(weights: Sequence[Sequence[float]]) -> list[int | None]:
    """Pairs rows with columns so that the sum of weights is as large as possible; ties go by order.

    Args:
        weights: One row per expected element, one column per actual one; a weight of 0 or less
            means that the two must not be paired.

    Returns:
        For every row the index of its column, or None.
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    if not columns:
        return [None] * rows
    if rows == 1:
        best = max(weights[0])
        return [weights[0].index(best) if best > 0 else None]
    size = max(rows, columns)
    cost = [
        [_cost(weights[i][j], i, j) if i < rows and j < columns else 0.0 for j in range(size)]
        for i in range(size)
    ]
    partner = _cheapest(cost)
    return [j if j < columns and weights[i][j] > 0 else None for i, j in enumerate(partner[:rows])]


def _cost(weight: float, i: int, j: int) -> float:
    return _ORDER_WEIGHT * abs(i - j) - weight if weight > 0 else 0.0


def _cheapest(cost: Sequence[Sequence[float]]) -> list[int]:
    """Returns the cheapest perfect assignment of a square matrix (Kuhn-Munkres with potentials, O(n^3))."""
    size = len(cost)
    row_potential, column_potential = [0.0] * (size + 1), [0.0] * (size + 1)
    row_of = [size] * (size + 1)
    for row in range(size):
        row_of[size] = row
        _augment(cost, row_of, row_potential, column_potential)
    columns = [0] * size
    for column in range(size):
        columns[row_of[column]] = column
    return columns


def _augment(
    cost: Sequence[Sequence[float]],
    row_of: list[int],
    row_potential: list[float],
    column_potential: list[float],
) -> None:
    """Adds the row that waits in the extra last column to the assignment, along a shortest path."""
    size = len(cost)
    slack, came_from, done = [inf] * size, [size] * size, [False] * (size + 1)
    column = size
    while row_of[column] != size:
        done[column] = True
        row = row_of[column]
        for j in range(size):
            if not done[j]:
                reduced = cost[row][j] - row_potential[row] - column_potential[j]
                if reduced < slack[j]:
                    slack[j], came_from[j] = reduced, column
        following = min((j for j in range(size) if not done[j]), key=slack.__getitem__)
        delta = slack[following]
        for j in range(size + 1):
            if done[j]:
                row_potential[row_of[j]] += delta
                column_potential[j] -= delta
            elif j < size:
                slack[j] -= delta
        column = following
    while column != size:
        row_of[column] = row_of[came_from[column]]
        column = came_from[column]
