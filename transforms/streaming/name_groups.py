"""Names the conversations of events that come in groups, in a stream."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import TimestampedValue

from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.beam.sessions import RecordContent, SessionsFn
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.streaming.session import Session
from turnwise.transforms.streaming.session_state import ClosedLookup, Sessions, none_earlier

_REST = "rest"


class _NameGroupsFn(SessionsFn):
    """Holds the events of a group until its end or a gap, and yields those that are new."""

    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        sessions.keep(name, session, self.rules)
        named = named_events(name, session.events(), self.counts)
        for event in named.events:
            if event.event_id in session.fresh:
                # Its session tells a later process which conversations the group belongs to.
                yield TimestampedValue((event.session_id, event._replace(group=name)), session.last_time)
        for failure in named.failures:
            yield TaggedOutput(_REST, TimestampedValue(failure, session.last_time))

    def found(self, rejected: Any) -> Any:
        """Returns it as an output beside the events."""
        return TaggedOutput(_REST, rejected)


class _KeyGroupFn(InspectedDoFn):
    def __init__(self, rules: StreamRules) -> None:
        self._rules = rules

    def process(self, entry: tuple[str, ConversationEvent]) -> Iterator[tuple[str, ConversationEvent]]:
        yield self._rules.key(entry[0]), entry[1]._replace(session_id=entry[0])


class NamedStream(NamedTuple):
    """Events by conversation; beside them failures, and events that add nothing."""

    events: "PCollection[tuple[str, ConversationEvent]]"
    rest: "PCollection[RecordContent]"


class NameStreamGroups(beam.PTransform[PCollection[tuple[str, ConversationEvent]], NamedStream]):
    """Gives the events of groups, timestamped by their time, the ids of their conversations.

    A group is held until an event ends it, or until the gap after its last event. A later event of the group
    is named by all of its events, as long as the group is kept.
    """

    def __init__(self, rules: StreamRules, reader: LogReader, earlier: ClosedLookup = none_earlier) -> None:
        """Sets the rules of the assembly.

        Args:
            rules: Gap, lateness and keys.
            reader: Reader for the events of closed groups.
            earlier: Returns the events of a group that an earlier process closed; must be picklable.
        """
        super().__init__()
        self._rules, self._reader, self._earlier = rules, reader, earlier

    def expand(self, grouped: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Keys events by group or slot, and names them."""
        keyed = grouped | "KeyGroups" >> beam.ParDo(_KeyGroupFn(self._rules))
        name = _NameGroupsFn(self._rules, self._reader, self._earlier)
        outputs = keyed | "NameGroups" >> beam.ParDo(name).with_outputs(_REST, main="events")
        return NamedStream(outputs["events"], outputs[_REST])
