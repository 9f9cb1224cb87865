"""Parses arrivals of a stream into conversations and events."""

from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection

from turnwise.schemas.record import Arrival, Record
from turnwise.transforms.beam.parse import Parsed, ParsingDoFn, parse_with
from turnwise.transforms.formats.readers import LogReader
from turnwise.transforms.text.times import epoch_seconds


class _ParseArrivalFn(ParsingDoFn):
    def process(self, arrival: Arrival) -> list[Any]:
        record = Record(arrival.source, arrival.position, arrival.data)
        is_known = epoch_seconds(arrival.watermark) == arrival.watermark
        return self.outputs(record, arrival.watermark if is_known else 0.0)


class ParseArrivals(beam.PTransform[PCollection[Arrival], Parsed]):
    """Turns arrivals into conversations and events, with the arrivals' timestamps."""

    def __init__(self, reader: LogReader) -> None:
        super().__init__()
        self._reader = reader

    def expand(self, arrivals: "PCollection[Arrival]") -> Any:
        """Parses the arrivals."""
        return parse_with(_ParseArrivalFn(self._reader), arrivals)
