"""Leaves out what was asked and done before, and draws a sample that is the same in every run."""

from collections.abc import Iterable
from hashlib import blake2b

from turnwise.transforms.decisions.cases import Candidate


class CandidateSample:
    """Candidates that differ in what was asked and done.

    Of equal ones the one with the lowest conversation id is kept. A sample has those whose content comes
    first by a hash with the seed, so that it depends neither on the order nor on how the files are split.

    Attributes:
        repeated: Number of candidates that were left out as equal.
        left_out: Number of distinct ones that the sample does not hold.
    """

    def __init__(self, number: int | None, seed: int = 0) -> None:
        """Creates an empty one; `number` is its size at most, None: all."""
        self._number, self._seed = number, str(seed).encode()
        self._kept: dict[bytes, Candidate] = {}
        self._seen: set[bytes] = set()
        self.repeated = self.left_out = 0

    def add(self, candidate: Candidate) -> None:
        """Adds a candidate."""
        key = candidate.digest
        if key in self._seen:
            self.repeated += 1
            kept = self._kept.get(key)
            if kept is not None and _name(candidate) < _name(kept):
                self._kept[key] = candidate
            return
        self._seen.add(key)
        self._kept[key] = candidate
        if self._number is not None and len(self._kept) > 2 * self._number + 1000:
            self._shrink(self._number)

    def _shrink(self, number: int) -> None:
        ordered = sorted(self._kept, key=self._place)
        self.left_out += max(0, len(ordered) - number)
        self._kept = {key: self._kept[key] for key in ordered[:number]}

    def _place(self, key: bytes) -> bytes:
        return blake2b(key, key=self._seed, digest_size=8).digest()

    def chosen(self) -> list[Candidate]:
        """Returns the candidates, by conversation id."""
        if self._number is not None:
            self._shrink(self._number)
        return sorted(self._kept.values(), key=_name)


def _name(candidate: Candidate) -> tuple[str, str]:
    return candidate.conversation.conversation_id, candidate.conversation.app_version or ""


def distinct_names(candidates: Iterable[Candidate]) -> list[tuple[str, Candidate]]:
    """Returns candidates with names that differ: the last segment of the id, with a number if it is taken."""
    taken: set[str] = set()
    named = []
    for candidate in candidates:
        stem = candidate.conversation.conversation_id.rsplit("/", 1)[-1]
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        named.append((name, candidate))
    return named
