"""Several feeds as one."""

from collections.abc import Iterable, Sequence

from pipeline.feeds.feed import Feed, Item


class CompositeFeed:
    """Asks its feeds in turn."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        """Keeps the feeds."""
        self._feeds = feeds
        self._first = 0

    @property
    def is_finished(self) -> bool:
        """Whether all of them are finished."""
        return all(feed.is_finished for feed in self._feeds)

    def poll(self, limit: int) -> Sequence[Item]:
        """Returns what has arrived: an equal share of each, then more of those that have more."""
        order = [*self._feeds[self._first :], *self._feeds[: self._first]]
        self._first = (self._first + 1) % len(self._feeds)
        share = max(limit // len(order), 1)
        items: list[Item] = []
        for most in (share, limit):
            for feed in order:
                room = min(most, limit - len(items))
                items += feed.poll(room) if room > 0 else ()
        return items

    def last_items(self) -> Sequence[Item]:
        """Returns what they held back."""
        return [item for feed in self._feeds for item in feed.last_items()]

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Tells each of them; a feed takes no note of the sources of others."""
        settled = list(places)
        for feed in self._feeds:
            feed.settle(settled)

    def backlog(self) -> int | None:
        """Returns the sum of what is known."""
        known = [waiting for feed in self._feeds if (waiting := feed.backlog()) is not None]
        return sum(known) if known else None

    def close(self) -> None:
        """Closes all of them."""
        for feed in self._feeds:
            feed.close()
