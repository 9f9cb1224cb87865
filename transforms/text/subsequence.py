"""Computes the longest common subsequence."""

from collections.abc import Iterable


def common_subsequence(places: Iterable[int], size: int) -> int:
    """Returns the length of the longest common subsequence of two lists (bit-parallel, after Hyyro 2004).

    Args:
        places: For every element of the first list, in order, a bit mask of the matching indexes of the
            second.
        size: Length of the second list.
    """
    everywhere = (1 << size) - 1
    free = everywhere
    for matching in places:
        taken = free & matching
        free = ((free + taken) | (free - taken)) & everywhere
    return size - free.bit_count()
