"""The longest common subsequence."""

from collections.abc import Iterable


def common_subsequence(places: Iterable[int], size: int) -> int:
    """Returns the length of the longest common subsequence of two lists (bit-parallel, after Hyyro 2004).

    Args:
        places: For every element of the one list, in order, a bit for each place of the other list at which
            an element matches it.
        size: Length of the other list.
    """
    everywhere = (1 << size) - 1
    free = everywhere
    for matching in places:
        taken = free & matching
        free = ((free + taken) | (free - taken)) & everywhere
    return size - free.bit_count()
