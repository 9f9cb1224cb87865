"""Counts the units of words that a range of words shares with a claim."""

from collections.abc import Iterable
from itertools import chain

from turnwise.transforms.text.subsequence import common_subsequence
from turnwise.transforms.text.words import Word


class UnitPlaces(dict[str, int]):
    """Unit of a word -> bit mask of the places where it stands in a range of words."""

    def __init__(self, found: Iterable[Word]) -> None:
        place = 1
        for unit in chain.from_iterable([word.units for word in found]):
            self[unit] = self.get(unit, 0) | place
            place <<= 1
        self._size = place.bit_length() - 1

    def shared(self, units: Iterable[str]) -> int:
        """Returns how many of some units stand there."""
        return sum(map(self.__contains__, units))

    def in_order(self, units: Iterable[str]) -> int:
        """Returns how many of some units stand there in their order: the longest common subsequence."""
        return common_subsequence((self.get(unit, 0) for unit in units), self._size)
