"""Raw records to canonical conversations and eval cases."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.counters import COUNTS, CountingDoFn
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import (
    CaseReader,
    LoggedConversation,
    LogReader,
    distinct_case,
    join_session,
    parse_case,
    parse_record,
)
from turnwise.transforms.matching.sample import PackedCase, packed_case, packed_entry, unpacked_entry

FAILURES = "failures"
EVENTS = "events"
GROUPED = "grouped"


class Parsed(NamedTuple):
    """Outputs of a parser.

    Attributes:
        conversations: Conversations.
        events: Events to be joined, by conversation.
        grouped: Events whose group names the conversation, by group.
        failures: Failures.
        counts: What each bundle counted.
    """

    conversations: "PCollection[LoggedConversation]"
    events: "PCollection[tuple[str, ConversationEvent]]"
    grouped: "PCollection[tuple[str, ConversationEvent]]"
    failures: "PCollection[Failure]"
    counts: "PCollection[tuple[str, dict[str, int]]]"


class ParsingDoFn(CountingDoFn):
    """A DoFn that reads records."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def outputs(self, record: Record, watermark: float = 0.0) -> list[Any]:
        """Returns what a record holds, failures as well; events get the watermark, if there is one."""
        outputs: list[Any] = []
        for found in parse_record(self._reader, record, self.counts):
            if isinstance(found, ConversationEvent):
                event = found._replace(watermark=watermark) if watermark else found
                tag, key = (GROUPED, event.group) if event.group else (EVENTS, event.session_id)
                outputs.append(beam.pvalue.TaggedOutput(tag, (key, event)))
            else:
                outputs.append(found)
        return outputs


class _ParseConversationFn(ParsingDoFn):
    def process(self, record: Record) -> list[Any]:
        return list(map(_tagged, self.outputs(record)))


class ParseConversations(beam.PTransform[PCollection[Record], Parsed]):
    """Turns records into conversations; a record that cannot be read becomes a failure."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Splits the records into conversations, events and failures."""
        outputs = records | "Parse" >> beam.ParDo(_ParseConversationFn(self._reader)).with_outputs(
            EVENTS, GROUPED, FAILURES, COUNTS, main="conversations"
        )
        return Parsed(*(outputs[tag] for tag in ("conversations", EVENTS, GROUPED, FAILURES, COUNTS)))


def _tagged(found: Any) -> Any:
    return beam.pvalue.TaggedOutput(FAILURES, found) if isinstance(found, Failure) else found


class _JoinFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        yield from map(_tagged, join_session(element[0], list(element[1]), self.counts))


class Joined(NamedTuple):
    """Conversations that were joined, failures, and counts."""

    conversations: "PCollection[LoggedConversation]"
    failures: "PCollection[Failure]"
    counts: "PCollection[tuple[str, dict[str, int]]]"


class NamedGroups(NamedTuple):
    """Events by conversation, failures, and counts."""

    events: "PCollection[tuple[str, ConversationEvent]]"
    failures: "PCollection[Failure]"
    counts: "PCollection[tuple[str, dict[str, int]]]"


class _NameFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        named = named_events(element[0], list(element[1]), self.counts)
        yield from ((event.session_id, event) for event in named.events)
        yield from map(_tagged, named.failures)


class NameGroups(beam.PTransform[PCollection[tuple[str, ConversationEvent]], NamedGroups]):
    """Gives the events of each group the ids of their conversations."""

    def expand(self, grouped: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Groups the events."""
        named = (
            grouped
            | "GroupByGroup" >> beam.GroupByKey()
            | "Name" >> beam.ParDo(_NameFn()).with_outputs(FAILURES, COUNTS, main="events")
        )
        return NamedGroups(named["events"], named[FAILURES], named[COUNTS])


class JoinSessions(beam.PTransform[PCollection[tuple[str, ConversationEvent]], Joined]):
    """Joins the events of each conversation into one, in turn order, each event once."""

    def expand(self, events: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Groups the events by session."""
        outputs = (
            events
            | "GroupBySession" >> beam.GroupByKey()
            | "Join" >> beam.ParDo(_JoinFn()).with_outputs(FAILURES, COUNTS, main="conversations")
        )
        return Joined(outputs["conversations"], outputs[FAILURES], outputs[COUNTS])


class ParsedCases(NamedTuple):
    """Eval cases with distinct keys, and of each step the failures and counts."""

    cases: "PCollection[PackedCase]"
    failures: "tuple[PCollection[Failure], ...]"
    counts: "tuple[PCollection[tuple[str, dict[str, int]]], ...]"


class _ParseCaseFn(CountingDoFn):
    def __init__(self, reader: CaseReader) -> None:
        super().__init__()
        self._reader = reader

    def process(self, record: Record) -> Iterator[Any]:
        for found in parse_case(self._reader, record, self.counts):
            yield _tagged(found) if isinstance(found, Failure) else (found[1].key.text, packed_entry(found))


class _DistinctCaseFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[bytes]]) -> Iterator[Any]:
        case, failures = distinct_case(map(unpacked_entry, element[1]), self.counts)
        if case is not None:
            yield packed_case(case)
        yield from map(_tagged, failures)


class ParseEvalCases(beam.PTransform[PCollection[Record], ParsedCases]):
    """Turns records into eval cases; of several with one set and id at most one counts, the others fail."""

    def __init__(self, reader: CaseReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Parses the records and rejects repeated keys."""
        parsed = records | "ParseCase" >> beam.ParDo(_ParseCaseFn(self._reader)).with_outputs(
            FAILURES, COUNTS, main="cases"
        )
        distinct = (
            parsed["cases"]
            | "GroupByCaseKey" >> beam.GroupByKey()
            | "DistinctCase" >> beam.ParDo(_DistinctCaseFn()).with_outputs(FAILURES, COUNTS, main="cases")
        )
        failures, counts = ((parsed[tag], distinct[tag]) for tag in (FAILURES, COUNTS))
        return ParsedCases(distinct["cases"], failures, counts)
