"""Counts the independent things that conversations are of: cases, however often each was recorded."""

from hashlib import blake2b

from msgspec import Struct, field

_MOST_KEPT = 500
_BITS = 64


class Units(Struct):
    """Conversations by their unit: the named case, or else the conversation itself.

    Up to 500 units are counted exactly. Of more, a sample is kept: those whose hash has `level` leading zeros
    (distinct sampling, Gibbons and Tirthapura 2001), so that memory is bounded and sums add up in any order.

    Attributes:
        kept: Hash of a unit -> conversations of it.
        level: Number of leading zero bits of the hashes that are kept.
        total: All conversations.
    """

    kept: dict[int, int] = field(default_factory=dict)
    level: int = 0
    total: int = 0

    def add(self, unit: str) -> None:
        """Counts one conversation of a unit."""
        place = int.from_bytes(blake2b(unit.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        self.total += 1
        if not place >> (_BITS - self.level):
            self.kept[place] = self.kept.get(place, 0) + 1
            self._limit()

    def merge(self, other: "Units", sign: int = 1) -> None:
        """Adds other conversations, or takes them back (`sign` -1); what becomes 0 goes."""
        self.total += sign * other.total
        if other.level > self.level:
            self.level = other.level
            self._drop()
        for place, number in other.kept.items():
            if place >> (_BITS - self.level):
                continue
            after = self.kept.pop(place, 0) + sign * number
            if after:
                self.kept[place] = after
        self._limit()

    def _limit(self) -> None:
        while len(self.kept) > _MOST_KEPT:
            self.level += 1
            self._drop()

    def _drop(self) -> None:
        self.kept = {place: n for place, n in self.kept.items() if not place >> (_BITS - self.level)}

    def independent(self, count: int) -> float:
        """Returns how many independent trials so many scores are: fewer where cases were recorded repeatedly.

        Returns:
            The count times the share of units in the conversations; at least 1 for any score.
        """
        recordings = sum(self.kept.values())
        if not count or recordings <= len(self.kept):
            return count
        return max(1.0, count * len(self.kept) / recordings)
