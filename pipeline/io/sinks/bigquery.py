"""The sink for tables of BigQuery."""

from collections.abc import Sequence
from typing import Any

from turnwise.pipeline.io.sinks.base import ChangeWriter, SinkKind, TableSink, register_sink
from turnwise.pipeline.settings.extras import check_extra
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas.config import ConfigError


def _open(place: SinkPlace) -> TableSink:
    from turnwise.pipeline.io.bigquery_sink import open_tables

    return open_tables(place)


def _append(place: SinkPlace) -> ChangeWriter:
    from turnwise.pipeline.io.bigquery_sink import BigQueryChanges

    return BigQueryChanges(place)


def _prepare(place: SinkPlace) -> None:
    if place.is_streaming:
        from turnwise.pipeline.io.bigquery_sink import try_stream

        return try_stream(place)
    from turnwise.pipeline.io.bigquery_sink import try_tables

    return try_tables(place)


def _complete(place: SinkPlace, staged: Sequence[Any]) -> Sequence[str]:
    from turnwise.pipeline.io.bigquery_sink import complete_tables

    return complete_tables(place, staged)


def _discard(place: SinkPlace) -> None:
    from turnwise.pipeline.io.bigquery_sink import discard_tables

    discard_tables(place)


def _check(option: str, url: str) -> None:
    from turnwise.pipeline.io.bigquery_sink import parse_dataset

    try:
        parse_dataset(url)
    except ValueError as error:
        raise ConfigError(f"{option} {url}: {error}") from None
    check_extra(f"{option} {url}", "turnwise[gcp]")


def _left(place: SinkPlace) -> str:
    return f"{place.url} holds all of it or nothing"


register_sink(
    SinkKind(
        name="bigquery",
        help="bigquery://PROJECT/DATASET",
        schemes=("bigquery",),
        open=_open,
        append=_append,
        prepare=_prepare,
        check=_check,
        complete=_complete,
        discard=_discard,
        left=_left,
    )
)
