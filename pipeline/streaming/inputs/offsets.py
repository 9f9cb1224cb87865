"""Which offset of a partition may be committed."""

from collections import deque


class OffsetTracker:
    """Keeps what of a partition was given and is not settled; offsets come in order, and may have gaps.

    Attributes:
        committed: What `commit` returned last; 0: nothing.
        next: The offset after the last that was given.
    """

    def __init__(self) -> None:
        self._given: deque[int] = deque()
        self._open: set[int] = set()
        self.committed = 0
        self.next = 0

    def add(self, offset: int) -> None:
        """Takes note that a record was given."""
        self._given.append(offset)
        self._open.add(offset)
        self.next = offset + 1

    def settle(self, offset: int) -> None:
        """Takes note that a record is settled; one that was not given since the assignment is passed over."""
        self._open.discard(offset)

    def commit(self) -> int | None:
        """Returns the offset before which all is settled, if it has moved since the last call."""
        while self._given and self._given[0] not in self._open:
            self._given.popleft()
        offset = self._given[0] if self._given else self.next
        if offset <= self.committed:
            return None
        self.committed = offset
        return offset
