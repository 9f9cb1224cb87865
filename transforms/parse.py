"""Raw records to canonical conversations and eval cases."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from schemas.case import EvalCase
from schemas.conversation import Conversation
from schemas.failure import Failure, record_failure
from schemas.record import Record
from transforms.counting import CountingDoFn
from transforms.formats.registry import CaseReader, LogReader, SessionEntry, join_entries

FAILURES = "failures"
ENTRIES = "entries"


class LoggedConversation(NamedTuple):
    """A conversation and the record it was read from."""

    conversation: Conversation
    record: Record


class Parsed(NamedTuple):
    """What a parser gives: conversations, entries of sessions still to be joined, failures."""

    conversations: "PCollection[LoggedConversation]"
    entries: "PCollection[tuple[str, SessionEntry]]"
    failures: "PCollection[Failure]"


class _ParseConversationFn(CountingDoFn):
    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def process(self, record: Record) -> Iterator[Any]:
        self.count("records")
        try:
            found = self._reader.read(record)
        except Exception as error:
            self.count("lost_records")
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse", error, record))
            return
        self.count("parsed_records")
        if isinstance(found, SessionEntry):
            yield beam.pvalue.TaggedOutput(ENTRIES, (found.session_id, found))
            return
        self.count("conversations", len(found))
        for one in found:
            if isinstance(one, ValueError):
                self.count("lost_conversations")
                yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse", one, record))
            else:
                yield LoggedConversation(one, record)


class ParseConversations(beam.PTransform[PCollection[Record], Parsed]):
    """Turns records into conversations; a record that cannot be read becomes a failure."""

    def __init__(self, reader: LogReader) -> None:
        """Keeps the reader, which knows the log format or recognises it."""
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Splits the records into what they hold."""
        outputs = records | "Parse" >> beam.ParDo(_ParseConversationFn(self._reader)).with_outputs(
            ENTRIES, FAILURES, main="conversations"
        )
        return Parsed(outputs["conversations"], outputs[ENTRIES], outputs[FAILURES])


class _JoinFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[SessionEntry]]) -> Iterator[Any]:
        session_id, entries = element[0], sorted(element[1])
        try:
            conversation = join_entries(session_id, entries)
        except Exception as error:
            self.count("conversations")
            self.count("lost_conversations")
            for entry in entries:
                yield beam.pvalue.TaggedOutput(
                    FAILURES, record_failure("parse", error, entry.record, session_id)
                )
            return
        self.count("conversations")
        self.count("joined_entries", len(entries))
        yield LoggedConversation(conversation, entries[0].record)


class JoinSessions(beam.PTransform[PCollection[tuple[str, SessionEntry]], Parsed]):
    """Joins the log entries of each session into one conversation, in turn order."""

    def expand(self, entries: "PCollection[tuple[str, SessionEntry]]") -> Any:
        """Groups the entries by session."""
        outputs = (
            entries
            | "GroupBySession" >> beam.GroupByKey()
            | "Join" >> beam.ParDo(_JoinFn()).with_outputs(FAILURES, main="conversations")
        )
        return Parsed(outputs["conversations"], entries, outputs[FAILURES])


class ParsedCases(NamedTuple):
    """Eval cases with distinct ids, and what went wrong."""

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
                yield case.eval_id, (record, case)


class _FirstCaseFn(CountingDoFn):
    def process(self, element: tuple[str, Iterable[tuple[Record, EvalCase]]]) -> Iterator[Any]:
        eval_id, found = element[0], sorted(element[1], key=lambda entry: entry[0][:2])
        yield found[0][1]
        first = found[0][0]
        for record, _ in found[1:]:
            self.count("cases", -1)
            self.count("lost_cases")
            error = ValueError(f"eval id {eval_id!r} stands already at {first.source}:{first.position}")
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("parse_case", error, record))


class ParseEvalCases(beam.PTransform[PCollection[Record], ParsedCases]):
    """Turns records into eval cases; of several with one id the first counts, the others are failures."""

    def __init__(self, reader: CaseReader) -> None:
        """Keeps the reader."""
        super().__init__()
        self._reader = reader

    def expand(self, records: "PCollection[Record]") -> Any:
        """Parses, then looks for repeated ids."""
        parsed = records | "ParseCase" >> beam.ParDo(_ParseCaseFn(self._reader)).with_outputs(
            FAILURES, main="cases"
        )
        distinct = (
            parsed["cases"]
            | "GroupByEvalId" >> beam.GroupByKey()
            | "FirstCase" >> beam.ParDo(_FirstCaseFn()).with_outputs(FAILURES, main="cases")
        )
        failures = (parsed[FAILURES], distinct[FAILURES]) | "CaseFailures" >> beam.Flatten()
        return ParsedCases(distinct["cases"], failures)
