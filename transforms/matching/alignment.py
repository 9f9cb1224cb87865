"""Aligns the turns of a golden case with the turns of a recording that has more or fewer of them."""

from collections.abc import Sequence

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.text.rouge import rouge

_USER_WEIGHT = 2.0


def turn_similarity(expected: ExpectedTurn, actual: Turn) -> float:
    """Returns the similarity of a golden and a recorded turn, 0..1.

    The ROUGE-1 F of the user's words counts twice, the overlap of the called tools' names (Jaccard) once;
    a side on which nothing is stated does not count. A turn that the agent opens is like another such turn.
    """
    parts: list[tuple[float, float]] = [
        (_USER_WEIGHT, _user_similarity(expected.user or "", actual.user or ""))
    ]
    if expected.tool_calls:
        wanted, made = {call.name for call in expected.tool_calls}, {call.name for call in actual.tool_calls}
        parts.append((1.0, len(wanted & made) / len(wanted | made)))
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)


def _user_similarity(expected: str, actual: str) -> float:
    return 1.0 if expected.strip() == actual.strip() else rouge(expected, actual).fmeasure


def align(expected: Sequence[ExpectedTurn], actual: Sequence[Turn]) -> list[tuple[int | None, int | None]]:
    """Aligns two lists of turns in order, so that the summed similarity is as large as possible.

    Dynamic programming (Needleman-Wunsch with free gaps). Turns with nothing in common are never paired.

    Returns:
        Pairs (golden index, recorded index) in order; None marks a missing or an extra turn.
    """
    similarity = [[turn_similarity(want, turn) for turn in actual] for want in expected]
    best = [[0.0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i in reversed(range(len(expected))):
        for j in reversed(range(len(actual))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + similarity[i][j])
    return _trace(similarity, best)


def _trace(similarity: list[list[float]], best: list[list[float]]) -> list[tuple[int | None, int | None]]:
    i, j, pairs = 0, 0, list[tuple[int | None, int | None]]()
    rows, columns = len(best) - 1, len(best[0]) - 1
    while i < rows or j < columns:
        if (
            i < rows
            and j < columns
            and similarity[i][j] > 0
            and best[i][j] == best[i + 1][j + 1] + similarity[i][j]
        ):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif j == columns or (i < rows and best[i][j] == best[i + 1][j]):
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs
