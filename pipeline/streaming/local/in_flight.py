"""The records that are on their way through a local pipeline."""

from collections.abc import Callable, Iterable
from threading import Lock

from turnwise.schemas.arrival import Arrival
from turnwise.schemas.record import Receipt
from turnwise.transforms.beam.progress import PROGRESS

Place = tuple[str, int]
"""Source and position of a record."""


class InFlightRecords:
    """Holds every record from its reading until all that came of it is kept."""

    def __init__(self, settle: Callable[[Iterable[Place]], None]) -> None:
        self._settle, self._lock = settle, Lock()
        self._arrivals: dict[Place, Arrival] = {}
        self._completed_parts: dict[Place, set[int]] = {}
        self.settled = 0

    def add(self, arrival: Arrival) -> bool:
        """Takes a record on; False: it is on its way already."""
        place = (arrival.source, arrival.position)
        with self._lock:
            is_new = place not in self._arrivals
            self._arrivals.setdefault(place, arrival)
        return is_new

    def arrival(self, place: Place) -> Arrival:
        """Returns a record that is on its way; raises KeyError if it is not."""
        return self._arrivals[place]

    def complete(self, receipts: Iterable[Receipt]) -> list[Place]:
        """Takes note of parts that are being kept, and returns the records that are thereby whole.

        Parts of what is not on its way are none of its business: what is no record of the stream, such as an
        eval case, or what was whole before.
        """
        whole = []
        with self._lock:
            for receipt in receipts:
                place = (receipt.source, receipt.position)
                if place not in self._arrivals:
                    continue
                parts = self._completed_parts.setdefault(place, set())
                parts.add(receipt.part)
                if len(parts) >= receipt.parts:
                    del self._completed_parts[place]
                    whole.append(place)
        return whole

    def release(self, places: Iterable[Place]) -> None:
        """Drops records whose outcomes are on the disk, and settles them at the source."""
        with self._lock:
            done = [place for place in places if self._arrivals.pop(place, None) is not None]
            self.settled += len(done)
        if done:
            self._settle(done)

    @property
    def waiting(self) -> int:
        """How many records are on their way, those included that wait in open sessions."""
        return len(self._arrivals)

    @property
    def in_flight(self) -> int:
        """How many records are on their way and not waiting in an open session."""
        return max(0, len(self._arrivals) - PROGRESS.held)
