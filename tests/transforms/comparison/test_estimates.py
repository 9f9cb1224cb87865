import pytest

from turnwise.transforms.decisions.comparison.estimates import PairedRuns, Setup, paired_shares
from turnwise.transforms.decisions.comparison.sentences import runs_of

SETUP = Setup(alpha=0.05, margin=0.02, q=0.1, seed=1)
CASES = [
    # values of A, values of B, size, value of A, value of B
    ([[1.0], [0.0], [1.0]], [[1.0], [1.0], [1.0]], 3, 2 / 3, 1.0),
    ([[0.5], [0.5]], [[0.5], [1.0]], 2, 0.5, 0.75),
    ([[1.0], [0.5]], [[0.0], [1.0]], 2, 0.75, 0.5),
    ([[1.0, 0.0]], [[1.0, 1.0]], 1, 0.5, 1.0),
    ([], [], 0, None, None),
]


@pytest.mark.parametrize(("a", "b", "size", "value_a", "value_b"), CASES)
def test_every_pair_counts_in_a_difference_of_shares(a, b, size, value_a, value_b):
    names = [f"c{place}" for place in range(len(a))]
    found = paired_shares(PairedRuns(names, runs_of(a), runs_of(b)), SETUP)
    assert (found.pairs, found.value_a, found.value_b) == (size, value_a, value_b)
