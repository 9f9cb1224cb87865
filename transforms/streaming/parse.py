"""Parses arrivals of a stream into conversations and events."""

from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import EVENTS, GROUPED, ParsingDoFn
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.text.dates import epoch_seconds

_FOUND = "found"


class ParsedArrivals(NamedTuple):
    """Outputs of the parser.

    Attributes:
        found: Conversations and failures.
        events: Events to be joined, by conversation.
        grouped: Events whose group names the conversation, by group.
    """

    found: "PCollection[LoggedConversation | Failure]"
    events: "PCollection[tuple[str, ConversationEvent]]"
    grouped: "PCollection[tuple[str, ConversationEvent]]"


class _ParseArrivalFn(ParsingDoFn):
    def process(self, arrival: Arrival) -> list[Any]:
        record = Record(arrival.source, arrival.position, arrival.data)
        is_known = epoch_seconds(arrival.watermark) == arrival.watermark
        return self.outputs(record, arrival.watermark if is_known else 0.0)


class ParseArrivals(beam.PTransform[PCollection[Arrival], ParsedArrivals]):
    """Turns arrivals into conversations, events and failures, with the arrivals' timestamps."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, arrivals: "PCollection[Arrival]") -> Any:
        """Parses the arrivals."""
        parse = beam.ParDo(_ParseArrivalFn(self._reader)).with_outputs(EVENTS, GROUPED, main=_FOUND)
        outputs = arrivals | "Parse" >> parse
        return ParsedArrivals(outputs[_FOUND], outputs[EVENTS], outputs[GROUPED])
