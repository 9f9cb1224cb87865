"""Reads the rows of BigQuery in a pipeline: workers run the query and read its pages."""

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from turnwise.pipeline.io.bigquery.query import RowsQuery
from turnwise.pipeline.io.bigquery_source import RowsPart, part_records, result_parts
from turnwise.pipeline.io.sources import ReadRecords, Source
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import COUNTS, FAILURES, CountingDoFn


class _QueryFn(beam.DoFn):
    def process(self, query: RowsQuery) -> Iterator[RowsPart]:
        yield from result_parts(query)


class _ReadPartFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str) -> None:
        super().__init__()
        self._limit, self._lost = max_record_bytes, lost

    def process(self, part: RowsPart) -> Iterator[Any]:
        for record in part_records(part, self._limit):
            if isinstance(record, Failure):
                self.count(self._lost)
                yield beam.pvalue.TaggedOutput(FAILURES, record)
            else:
                yield record


class BigQuerySource:
    """Reads the rows of queries, and the records of another source."""

    def __init__(
        self,
        queries: Sequence[RowsQuery],
        other: Source | None,
        max_record_bytes: int,
        lost: str,
        is_distributed: bool = False,
    ) -> None:
        """Creates a source.

        Args:
            queries: The queries; only their text becomes part of the pipeline.
            other: Another source to read.
            max_record_bytes: A larger row is a failure.
            lost: Name of the counter of rows that could not be read.
            is_distributed: Distribute the parts of the results over the workers.
        """
        self._queries, self._other, self._limit = list(queries), other, max_record_bytes
        self._lost, self._is_distributed = lost, is_distributed

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        """Adds the steps that run the queries and read their results."""
        queries = root | f"{name}Queries" >> beam.Create(self._queries, reshuffle=False)
        parts = queries | f"{name}RunQueries" >> beam.ParDo(_QueryFn())
        if self._is_distributed:
            parts = parts | f"{name}SpreadParts" >> beam.Reshuffle()
        read = _ReadPartFn(self._limit, self._lost)
        outputs = parts | f"{name}ReadRows" >> beam.ParDo(read).with_outputs(FAILURES, COUNTS, main="records")
        found = ReadRecords(outputs["records"], outputs[FAILURES], outputs[COUNTS])
        if self._other is None:
            return found
        files = self._other.read(root, name)
        pairs = zip(ReadRecords._fields, found, files, strict=True)
        return ReadRecords(*((a, b) | f"{name}All_{field}" >> beam.Flatten() for field, a, b in pairs))
