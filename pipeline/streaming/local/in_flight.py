"""Tracks the records in flight in a local pipeline."""

from collections.abc import Callable, Iterable
from threading import Lock

from turnwise.schemas.conversation import Arrival, Receipt

Place = tuple[str, int]
"""Source and position of a record."""


class InFlightRecords:
    """Names each record from its reading until all of its outcomes are stored."""

    def __init__(self, settle: Callable[[Iterable[Place]], None]) -> None:
        self._settle, self._lock = settle, Lock()
        self._places: set[Place] = set()
        self._completed_parts: dict[Place, set[int]] = {}
        self._completed_pieces: dict[tuple[Place, int], set[int]] = {}

    def add(self, arrival: Arrival) -> bool:
        """Adds a record; returns False if it is in flight already."""
        place = (arrival.source, arrival.position)
        with self._lock:
            is_new = place not in self._places
            self._places.add(place)
        return is_new

    def complete(self, receipts: Iterable[Receipt]) -> list[Place]:
        """Registers stored parts of records and returns the records that are complete.

        Ignores parts of records that are not in flight, such as eval cases and records completed before.
        """
        whole = []
        with self._lock:
            for receipt in receipts:
                place = (receipt.source, receipt.position)
                if place not in self._places or not self._is_part_complete(place, receipt):
                    continue
                parts = self._completed_parts.setdefault(place, set())
                parts.add(receipt.part)
                if len(parts) >= receipt.parts:
                    del self._completed_parts[place]
                    whole.append(place)
        return whole

    def _is_part_complete(self, place: Place, receipt: Receipt) -> bool:
        """Returns whether all pieces of a part are stored, given one of them."""
        if receipt.pieces == 1:
            return True
        pieces = self._completed_pieces.setdefault((place, receipt.part), set())
        pieces.add(receipt.piece)
        if len(pieces) < receipt.pieces:
            return False
        del self._completed_pieces[place, receipt.part]
        return True

    def release(self, places: Iterable[Place]) -> None:
        """Removes records whose outcomes are on disk and settles them at the source."""
        with self._lock:
            done = [place for place in places if place in self._places]
            self._places.difference_update(done)
        if done:
            self._settle(done)

    @property
    def waiting(self) -> int:
        """Number of records in flight, including those in open sessions."""
        return len(self._places)
