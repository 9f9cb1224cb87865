"""Tracks the records in flight in a local pipeline."""

from collections.abc import Callable, Iterable
from threading import Lock

from turnwise.schemas.record import Arrival, Receipt
from turnwise.transforms.beam.progress import PROGRESS

Place = tuple[str, int]
"""Source and position of a record."""


class InFlightRecords:
    """Holds each record from its reading until all of its outcomes are stored."""

    def __init__(self, settle: Callable[[Iterable[Place]], None]) -> None:
        self._settle, self._lock = settle, Lock()
        self._arrivals: dict[Place, Arrival] = {}
        self._completed_parts: dict[Place, set[int]] = {}
        self._completed_pieces: dict[tuple[Place, int], set[int]] = {}
        self.settled = 0

    def add(self, arrival: Arrival) -> bool:
        """Adds a record; returns False if it is in flight already."""
        place = (arrival.source, arrival.position)
        with self._lock:
            is_new = place not in self._arrivals
            self._arrivals.setdefault(place, arrival)
        return is_new

    def arrival(self, place: Place) -> Arrival:
        """Returns a record in flight; raises KeyError if there is none."""
        return self._arrivals[place]

    def complete(self, receipts: Iterable[Receipt]) -> list[Place]:
        """Registers stored parts of records and returns the records that are complete.

        Ignores parts of records that are not in flight, such as eval cases and records completed before.
        """
        whole = []
        with self._lock:
            for receipt in receipts:
                place = (receipt.source, receipt.position)
                if place not in self._arrivals or not self._is_part_complete(place, receipt):
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
            done = [place for place in places if self._arrivals.pop(place, None) is not None]
            self.settled += len(done)
        if done:
            self._settle(done)

    @property
    def waiting(self) -> int:
        """Number of records in flight, including those in open sessions."""
        return len(self._arrivals)

    @property
    def in_flight(self) -> int:
        """Number of records in flight, without those in open sessions."""
        return max(0, len(self._arrivals) - PROGRESS.held)
