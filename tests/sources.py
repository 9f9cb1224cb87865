"""Helpers for tests of the sources of a stream."""

import time

from turnwise.pipeline.streaming.inputs.base import SettledPositions, SourceRecord


def wait_for(source, number, seconds=30):
    """Polls a source until `number` records have arrived, or the time is over."""
    items: list[SourceRecord] = []
    until = time.monotonic() + seconds
    while len(items) < number and time.monotonic() < until:
        items += source.poll(1000)
        time.sleep(0.01)
    return items


def settle(source, items):
    source.settle([(item.source, item.position) for item in items])


class InMemoryCheckpoints:
    """Checkpoints in memory; they outlive a source, as those on disk outlive a process."""

    def __init__(self):
        self.settled: dict[str, set[int]] = {}
        self.notes: dict[str, str] = {}

    def done(self, source):
        places = self.settled.setdefault(source, set())
        through = 0
        while through + 1 in places:
            through += 1
        return SettledPositions(through, frozenset(place for place in places if place > through))

    def settle(self, items):
        for item in items:
            self.settled[item.source].add(item.position)

    def skip(self, source, positions):
        self.settled[source].update(positions)

    def note(self, source):
        return self.notes.get(source)

    def set_note(self, source, note):
        self.notes[source] = note
