"""Aligns the turns of a golden case with the turns of a recording that has more or fewer of them."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.text.rouge import rouge_tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Similarities = Callable[[int, int, int], "Sequence[float] | npt.NDArray[np.float64]"]
"""Returns the similarities, 0..1, of a row with the columns from one on, up to another one."""

AlignedPlaces = list[tuple[int | None, int | None]]

_LEAST_WIDTH = 16
_MOST_CELLS = 8_000_000
"""Places that a band may hold beside those between the diagonals: room for all of 2,000 turns and 2,000."""


def align_in_order(rows: int, columns: int, similarities: Similarities) -> AlignedPlaces:
    """Pairs two sequences in order, so that the summed similarity is as large as possible.

    None marks a place without a partner; places without any similarity are never paired. Sequences of
    thousands are paired as well as a band of `_MOST_CELLS` around the diagonal allows.
    """
    import numpy as np  # only for a golden of another length than the recording

    width = max(_LEAST_WIDTH, min(max(rows, columns), _MOST_CELLS // (2 * max(1, rows))))
    before, size = min(0, columns - rows) - width, abs(columns - rows) + 2 * width + 1
    # Best sums of similarities from every place of the band to the end (Needleman-Wunsch with free gaps); 0
    # elsewhere. A place stands in a row as far from the diagonal as in the next one.
    best = np.zeros((rows + 1, size + 2))
    for row in reversed(range(rows)):
        shift = row + before - 1
        first, stop = max(0, shift + 1), min(columns, shift + 1 + size)
        if first < stop:
            start, end, below = first - shift, stop - shift, best[row + 1]
            paired = below[start:end] + similarities(row, first, stop)
            sums = np.maximum(below[start - 1 : end - 1], paired)
            best[row, start:end] = np.maximum.accumulate(sums[::-1])[::-1]

    def best_from(row: int, column: int) -> float:
        offset = column - row - before + 1
        return float(best[row, offset]) if 0 <= offset < size + 2 else 0.0

    # A path of the best sum; of equal ones the one that pairs first.
    row, column, pairs = 0, 0, AlignedPlaces()
    while row < rows or column < columns:
        most, has_both = best_from(row, column), row < rows and column < columns
        similarity = float(similarities(row, column, column + 1)[0]) if has_both else 0.0
        if similarity > 0 and most == best_from(row + 1, column + 1) + similarity:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif column == columns or (row < rows and most == best_from(row + 1, column)):
            pairs.append((row, None))
            row += 1
        else:
            pairs.append((None, column))
            column += 1
    return pairs


_USER_WEIGHT = 2.0


class _Features(NamedTuple):
    """What turns are compared by: the user's text, its tokens, and the names of the called tools."""

    text: str
    counts: Counter[str]
    tools: frozenset[str | None]


def _features(user: str | None, calls: Iterable[ToolCall] | None) -> _Features:
    text = (user or "").strip()
    return _Features(text, Counter(rouge_tokens(text)), frozenset(call.name for call in calls or ()))


def align(expected: Sequence[ExpectedTurn], actual: Sequence[Turn]) -> AlignedPlaces:
    """Aligns two lists of turns in order, so that the summed similarity is as large as possible.

    Turns with nothing in common are never paired; None marks a missing or an extra turn. The ROUGE-1 F of the
    user's words counts twice, the overlap of the called tools' names (Jaccard) once; a side on which nothing
    is stated does not count. Turns that the agent opens are alike.
    """
    import numpy as np

    golden = [_features(turn.user, turn.tool_calls) for turn in expected]
    recorded = [_features(turn.user, turn.tool_calls) for turn in actual]
    # Indexes of the recorded turns by the tokens of the user's words, by the words, and by the tools.
    of_token: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    of_text: defaultdict[str, list[int]] = defaultdict(list)
    for index, turn in enumerate(recorded):
        of_text[turn.text].append(index)
        for token, count in turn.counts.items():
            of_token[token].append((index, count))
    tokens = {token: np.array(counted).T for token, counted in of_token.items()}
    texts = {text: np.array(at) for text, at in of_text.items()}
    sizes = np.array([turn.counts.total() or 1 for turn in recorded], int)
    tools = list({turn.tools: None for turn in recorded})
    numbers = {names: number for number, names in enumerate(tools)}
    tools_of = np.array([numbers[turn.tools] for turn in recorded], int)

    def similarities(row: int, first: int, stop: int) -> "npt.NDArray[np.float64]":
        wanted, common = golden[row], np.zeros(stop - first)
        for token, most in wanted.counts.items():
            if token in tokens:
                places, counts = tokens[token]
                start, end = places.searchsorted((first, stop))
                common[places[start:end] - first] += np.minimum(counts[start:end], most)
        # ROUGE-1 F as `rouge_score` computes it.
        precision, recall = common / sizes[first:stop], common / (wanted.counts.total() or 1)
        users = 2 * precision * recall / np.where(common > 0, precision + recall, 1)
        if wanted.text in texts:
            places = texts[wanted.text]
            start, end = places.searchsorted((first, stop))
            users[places[start:end] - first] = 1.0
        if not wanted.tools:
            return users
        shares = np.array([len(wanted.tools & names) / len(wanted.tools | names) for names in tools])
        return (_USER_WEIGHT * users + shares[tools_of[first:stop]]) / (_USER_WEIGHT + 1.0)

    return align_in_order(len(expected), len(actual), similarities)


# Pairs expected with actual things, as well as possible over all of them together.

Expected = TypeVar("Expected")
Actual = TypeVar("Actual")

_ORDER_WEIGHT = 1e-9


def equal_matches(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> list[int | None]:
    """Returns for every expected element the index of an equal actual one, in order, each once; or None."""
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
    """Returns for every expected element the index of its actual partner, or None, as many as possible.

    It is a maximum bipartite matching by augmenting paths. All elements that are paired in `start`, an
    earlier result, stay paired.
    """
    fitting = [[j for j, other in enumerate(actual) if matches(want, other)] for want in expected]
    partners: list[int | None] = list(start) or [None] * len(expected)
    owners = {j: i for i, j in enumerate(partners) if j is not None}
    for i in range(len(expected)):
        if partners[i] is None:
            _assign(i, fitting, partners, owners)
    return partners


def _assign(i: int, fitting: list[list[int]], partners: list[int | None], owners: dict[int, int]) -> None:
    """Finds a partner for one more expected element, moving others along a shortest augmenting path."""
    came_from: dict[int, int] = {}
    waiting = deque([i])
    while waiting:
        mover = waiting.popleft()
        for j in fitting[mover]:
            if j not in came_from:
                came_from[j] = mover
                if j not in owners:
                    column: int | None = j
                    while column is not None:
                        mover = came_from[column]
                        owners[column] = mover
                        partners[mover], column = column, partners[mover]
                    return
                waiting.append(owners[j])


def best_assignment(weights: Sequence[Sequence[float]]) -> list[int | None]:
    """Pairs rows with columns so that the sum of weights is as large as possible; ties go by order.

    Returns for every row the index of its column, or None. A weight of 0 or less means that the two must not
    be paired.
    """
    rows, columns = len(weights), len(weights[0]) if weights else 0
    if not columns:
        return [None] * rows
    if rows == 1:
        best = max(weights[0])
        return [weights[0].index(best) if best > 0 else None]
    if rows == columns == 2:
        crossed = weights[0][1] + weights[1][0] - 2 * _ORDER_WEIGHT
        partner = [1, 0] if crossed > weights[0][0] + weights[1][1] else [0, 1]
        return [j if weights[i][j] > 0 else None for i, j in enumerate(partner)]
    size = max(rows, columns)
    cost = [[0.0] * size for _ in range(size)]
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            if weight > 0:
                cost[i][j] = _ORDER_WEIGHT * abs(i - j) - weight
    partner = _cheapest(cost)
    return [j if j < columns and weights[i][j] > 0 else None for i, j in enumerate(partner[:rows])]


def _cheapest(cost: Sequence[Sequence[float]]) -> list[int]:
    """Returns the cheapest perfect assignment of a square matrix (Kuhn-Munkres with potentials, O(n^3))."""
    size = len(cost)
    row_potential, column_potential = [0.0] * (size + 1), [0.0] * (size + 1)
    row_of = [size] * (size + 1)
    for waiting in range(size):
        # The row waits in an extra last column, and joins the assignment along a shortest path.
        column, row_of[size] = size, waiting
        slack, came_from, done = [inf] * size, [size] * size, [False] * (size + 1)
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
    columns = [0] * size
    for column in range(size):
        columns[row_of[column]] = column
    return columns
