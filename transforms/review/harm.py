"""How much a conversation needs to be read, as one number."""

from collections.abc import Sequence
from itertools import groupby

from turnwise.schemas.score import HARM_WEIGHTS
from turnwise.transforms.review.problems import ReviewProblem

_DECIMALS = 3


def harm_of(problems: Sequence[ReviewProblem]) -> float:
    """Returns the harm of a conversation; 0: it has no problem.

    Each kind adds weight * (1 - 1/2 * product of (1 - gap/2) over its problems), which lies between half the
    weight and the weight. The half of each weight is more than all lower kinds together, so that a worse kind
    always comes first, and among equal kinds more and larger failures come first.

    Args:
        problems: The problems, those of a kind together.
    """
    harm = 0.0
    for term, group in groupby(problems, key=lambda problem: problem.term):
        missed = 1.0
        for problem in group:
            missed *= 1.0 - problem.gap / 2
        harm += HARM_WEIGHTS[term] * (1.0 - missed / 2)
    return round(harm, _DECIMALS)
