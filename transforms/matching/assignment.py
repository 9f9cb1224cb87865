"""Pairs expected with actual things, as well as possible over all of them together."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import TypeVar

Expected = TypeVar("Expected")
Actual = TypeVar("Actual")

_ORDER_WEIGHT = 1e-9


def equal_matches(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> list[int | None]:
    """Pairs equal elements of two lists, each with at most one, in order.

    Returns:
        For every expected element the index of its actual partner, or None.
    """
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for j, element in enumerate(actual):
        places[element].append(j)
    return [places[want].popleft() if places.get(want) else None for want in expected]


def count_matches(
    expected: Sequence[Expected],
    actual: Sequence[Actual],
    matches: Callable[[Expected, Actual], bool],
    start: Sequence[int | None] = (),
) -> list[int | None]:
    """Pairs as many as possible of two lists (maximum bipartite matching by augmenting paths).

    Args:
        expected: Elements that look for a partner.
        actual: Elements that can be one.
        matches: Whether two may be paired.
        start: An earlier result to go on from; all elements that are paired in it stay paired.

    Returns:
        For every expected element the index of its actual partner, or None.
    """
    fitting = [[j for j, other in enumerate(actual) if matches(want, other)] for want in expected]
    partners: list[int | None] = list(start) or [None] * len(expected)
    owners = {j: i for i, j in enumerate(partners) if j is not None}
    for i in range(len(expected)):
        if partners[i] is None:
            _place(i, fitting, partners, owners)
    return partners


def _place(i: int, fitting: list[list[int]], partners: list[int | None], owners: dict[int, int]) -> None:
    """Finds a partner for one more expected element, moving others along a shortest augmenting path."""
    came_from: dict[int, int] = {}
    waiting = deque([i])
    while waiting:
        mover = waiting.popleft()
        for j in fitting[mover]:
            if j not in came_from:
                came_from[j] = mover
                if j not in owners:
                    _move_along(j, came_from, partners, owners)
                    return
                waiting.append(owners[j])


def _move_along(
    free: int, came_from: dict[int, int], partners: list[int | None], owners: dict[int, int]
) -> None:
    place: int | None = free
    while place is not None:
        mover = came_from[place]
        owners[place] = mover
        partners[mover], place = place, partners[mover]


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
