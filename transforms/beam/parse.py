"""Raw records to canonical conversations and eval cases."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.failure import Failure, record_failure
from turnwise.schemas.record import Receipt, Record
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.formats.events import ConversationEvent, add_clashes, distinct, in_order, join_events
from turnwise.transforms.formats.registry import CaseReader, LogReader

FAILURES = "failures"
EVENTS = "events"
_PLACES_SHOWN = 3


class LoggedConversation(NamedTuple):
    """A conversation and the record it was read from."""

    conversation: Conversation
    record: Record


class Parsed(NamedTuple):
    """What a parser gives: conversations, events of conversations still to be joined, failures."""

    conversations: "PCollection[LoggedConversation]"
    events: "PCollection[tuple[str, ConversationEvent]]"
    failures: "PCollection[Failure]"


class ParsingDoFn(CountingDoFn):
    """A DoFn that reads records."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def outputs(self, record: Record, watermark: float = 0.0) -> Iterator[Any]:
        """Yields what a record holds.

        Of several conversations in one record each has its own receipt. An event is told the watermark.
        """
        self.count("records")
        try:
            found = self._reader.read(record)
            if not found:
                raise ValueError("the record holds no conversation")
        except Exception as error:
            self.count("lost_records")
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse", error, record))
            return
        self.count("parsed_records")
        if isinstance(found, ConversationEvent):
            event = found._replace(watermark=watermark) if watermark else found
            yield beam.pvalue.TaggedOutput(EVENTS, (event.session_id, event))
            return
        self.count("conversations", len(found))
        for part, one in enumerate(found):
            own = record if len(found) == 1 else _part_of(record, part, len(found))
            if isinstance(one, ValueError):
                self.count("lost_conversations")
                yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse", one, own))
            else:
                yield LoggedConversation(one, own)


def _part_of(record: Record, part: int, parts: int) -> Record:
    return record._replace(receipts=(Receipt(record.source, record.position, part, parts),))


def parse_with(fn: ParsingDoFn, records: "PCollection[Any]") -> Parsed:
    """Returns what a DoFn reads from records."""
    outputs = records | "Parse" >> beam.ParDo(fn).with_outputs(EVENTS, FAILURES, main="conversations")
    return Parsed(outputs["conversations"], outputs[EVENTS], outputs[FAILURES])


class _ParseConversationFn(ParsingDoFn):
    def process(self, record: Record) -> Iterator[Any]:
        return self.outputs(record)


class ParseConversations(beam.PTransform[PCollection[Record], Parsed]):
    """Turns records into conversations; a record that cannot be read becomes a failure."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Splits the records into what they hold."""
        return parse_with(_ParseConversationFn(self._reader), records)


class _JoinFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[ConversationEvent]]) -> Iterator[Any]:
        session_id, given = element[0], list(element[1])
        self.count("conversations")
        try:
            events = in_order(distinct(given))
            conversation = join_events(session_id, events)
            add_clashes(conversation, given, events)
        except Exception as error:
            self.count("lost_conversations")
            for event in given:
                yield beam.pvalue.TaggedOutput(
                    FAILURES, record_failure("parse", error, event.record, session_id)
                )
            return
        self.count("joined_entries", len(given))
        yield LoggedConversation(conversation, events[0].record)


class JoinSessions(beam.PTransform[PCollection[tuple[str, ConversationEvent]], Parsed]):
    """Joins the events of each conversation into one, in turn order, each event once."""

    def expand(self, events: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Groups the events by session."""
        outputs = (
            events
            | "GroupBySession" >> beam.GroupByKey()
            | "Join" >> beam.ParDo(_JoinFn()).with_outputs(FAILURES, main="conversations")
        )
        return Parsed(outputs["conversations"], events, outputs[FAILURES])


class ParsedCases(NamedTuple):
    """Eval cases with distinct keys, and what went wrong."""

    cases: "PCollection[EvalCase]"
    failures: "PCollection[Failure]"


class _ParseCaseFn(CountingDoFn):
    def __init__(self, reader: CaseReader) -> None:
        super().__init__()
        self._reader = reader

    def process(self, record: Record) -> Iterator[Any]:
        try:
            cases = self._reader.read(record)
        except Exception as error:
            self.count("lost_cases")
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse_case", error, record))
            return
        for case in cases:
            if isinstance(case, ValueError):
                self.count("lost_cases")
                yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse_case", case, record))
            else:
                self.count("cases")
                yield case.key.text, (record, case)


def distinct_case(entries: Iterable[tuple[Record, EvalCase]]) -> tuple[EvalCase | None, list[Failure]]:
    """Returns the case of entries with one key, and the failures of those that do not count.

    Of equal ones the first counts. Of ones that differ none does: nobody can tell which is meant.
    """
    found = sorted(entries, key=lambda entry: entry[0][:2])
    first, case = found[0]
    if all(other == case for _, other in found):
        error = ValueError(f"{_named(case.key)} stands already at {first.source}:{first.position}")
        return case, [record_failure("parse_case", error, record) for record, _ in found[1:]]
    places = ", ".join(f"{record.source}:{record.position}" for record, _ in found[:_PLACES_SHOWN])
    more = ", ..." if len(found) > _PLACES_SHOWN else ""
    error = ValueError(f"{_named(case.key)} stands several times and differs, so none counts: {places}{more}")
    return None, [record_failure("parse_case", error, record) for record, _ in found]


def _named(key: CaseKey) -> str:
    return f"eval id {key.eval_id!r}" + (f" of the set {key.eval_set_id!r}" if key.eval_set_id else "")


class _DistinctCaseFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[tuple[Record, EvalCase]]]) -> Iterator[Any]:
        case, failures = distinct_case(element[1])
        if case is not None:
            yield case
        self.count("cases", -len(failures))
        self.count("lost_cases", len(failures))
        yield from (beam.pvalue.TaggedOutput(FAILURES, failure) for failure in failures)


class ParseEvalCases(beam.PTransform[PCollection[Record], ParsedCases]):
    """Turns records into eval cases; of several with one set and id at most one counts, the others fail."""

    def __init__(self, reader: CaseReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Parses, then looks for repeated keys."""
        parsed = records | "ParseCase" >> beam.ParDo(_ParseCaseFn(self._reader)).with_outputs(
            FAILURES, main="cases"
        )
        distinct = (
            parsed["cases"]
            | "GroupByCaseKey" >> beam.GroupByKey()
            | "DistinctCase" >> beam.ParDo(_DistinctCaseFn()).with_outputs(FAILURES, main="cases")
        )
        failures = (parsed[FAILURES], distinct[FAILURES]) | "CaseFailures" >> beam.Flatten()
        return ParsedCases(distinct["cases"], failures)
