"""Several sources as one."""

from collections.abc import Iterable, Sequence

from turnwise.pipeline.streaming.inputs.source import SourceRecord, StreamSource


class CompositeSource:
    """Asks its sources in turn."""

    def __init__(self, sources: Sequence[StreamSource]) -> None:
        self._sources = sources
        self._first = 0

    @property
    def is_finished(self) -> bool:
        """Whether all of them are finished."""
        return all(source.is_finished for source in self._sources)

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns what has arrived: an equal share of each, then more of those that have more."""
        order = [*self._sources[self._first :], *self._sources[: self._first]]
        self._first = (self._first + 1) % len(self._sources)
        share = max(limit // len(order), 1)
        items: list[SourceRecord] = []
        for most in (share, limit):
            for source in order:
                room = min(most, limit - len(items))
                items += source.poll(room) if room > 0 else ()
        return items

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns what they held back."""
        return [item for source in self._sources for item in source.last_items()]

    def unread(self) -> Sequence[str]:
        """Returns what stays unread in them."""
        return [line for source in self._sources for line in source.unread()]

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Tells each of them; a source takes no note of the sources of others."""
        settled = list(places)
        for source in self._sources:
            source.settle(settled)

    def backlog(self) -> int | None:
        """Returns the sum of what is known."""
        known = [waiting for source in self._sources if (waiting := source.backlog()) is not None]
        return sum(known) if known else None

    def close(self) -> None:
        """Closes all of them."""
        for source in self._sources:
            source.close()
