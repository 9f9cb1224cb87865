"""Reads the rows of a query: the result is divided into parts, and every part is read in pages."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from turnwise.pipeline.io.bigquery.client import REQUEST_SECONDS, one_line, open_rows_client, patient
from turnwise.pipeline.io.bigquery.query import RowsQuery, prepare_query
from turnwise.pipeline.io.records import oversized_error
from turnwise.pipeline.io.row_values import plain_row
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.score import KEPT_RECORD_BYTES, Failure, record_failure

if TYPE_CHECKING:
    from google.cloud.bigquery import QueryJob


PART_ROWS = 20_000
"""Rows that one worker reads at a time."""
_PATIENCE = 600.0


class RowsPart(NamedTuple):
    """A part of the result of a query.

    Attributes:
        shown: The address in one line.
        project: Project of the job.
        location: Location of the job.
        job_id: The job; its result is kept for a day.
        start: 0-based number of the first row.
        number: Number of rows.
    """

    shown: str
    project: str
    location: str
    job_id: str
    start: int
    number: int


def result_parts(query: RowsQuery, part_rows: int = PART_ROWS, patience: float = _PATIENCE) -> list[RowsPart]:
    """Runs a query and divides its result.

    Raises:
        OSError: The query failed.
    """
    with one_line(query.shown, OSError):
        client = open_rows_client(query.project)
        job = client.query(query.sql, retry=patient(patience), timeout=REQUEST_SECONDS)
        found = job.result(max_results=0, retry=patient(patience), timeout=None)
        total = found.total_rows or 0
    return [
        RowsPart(query.shown, query.project, job.location, job.job_id, start, min(part_rows, total - start))
        for start in range(0, total, part_rows)
    ]


def part_records(part: RowsPart, limit: int, patience: float = _PATIENCE) -> Iterator[Record | Failure]:
    """Yields the rows of a part as records; their position is their 1-based number in the result.

    A row of more than `limit` bytes is a failure.

    Raises:
        OSError: A page cannot be read, or rows are missing.
    """
    last = part.start + part.number
    with one_line(f"{part.shown}: rows {part.start + 1} to {last}", OSError):
        for position, row in enumerate(_rows(part, patience), part.start + 1):
            text = dump_json(plain_row(row))
            if len(text) <= limit:
                yield Record(part.shown, position, text)
            else:
                start = Record(part.shown, position, text[:KEPT_RECORD_BYTES])
                yield record_failure("read", oversized_error(limit), start)


def _rows(part: RowsPart, patience: float) -> Iterator[JsonObject]:
    """Yields the rows; reading goes on at the row reached where the service forgot its place in the pages."""
    from google.api_core.exceptions import BadRequest

    client = open_rows_client(part.project)
    found = client.get_job(part.job_id, location=part.location, retry=patient(patience))
    job = cast("QueryJob", found)
    done = before = 0
    while done < part.number:
        try:
            for row in _pages(job, part.start + done, part.number - done, patience):
                yield row
                done += 1
        except BadRequest:
            if done == before:
                raise
            before = done
            continue
        if done < part.number:
            raise OSError(f"only {done} of {part.number} rows came")


def _pages(job: "QueryJob", start: int, count: int, patience: float) -> Iterator[JsonObject]:
    found = job.result(
        max_results=count, start_index=start, retry=patient(patience), job_retry=None, timeout=REQUEST_SECONDS
    )
    for row in found:
        yield dict(row)


def query_records(path: str, limit: int) -> Iterator[Record | Failure]:
    """Yields the rows of an address, one part after the other, for commands without a pipeline.

    Raises:
        ConfigError: The address, the SQL text or the permissions are wrong.
        OSError: The query failed, or a page cannot be read.
    """
    for part in result_parts(prepare_query(path)):
        yield from part_records(part, limit)
