"""The services that take tables of a run: a store, BigQuery, a dataset of Parquet files, a receiver of OTLP.

A service is known to every run, and its libraries are imported by runs that name it.
"""

from functools import partial
from pathlib import Path

from turnwise.pipeline.io.sinks.base import RunRecord, SinkKind, deferred, register_sink
from turnwise.pipeline.settings.extras import check_extra, check_places, check_store
from turnwise.pipeline.store.urls import absolute_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import SCHEMES

_store, _bigquery, _parquet, _staging, _otlp = (
    partial(deferred, f"io.{name}")
    for name in ("store", "bigquery_sink", "parquet_sink", "staging", "otlp_sink")
)

register_sink(
    SinkKind(
        name="store",
        help="sqlite:///FILE, postgresql://...",
        schemes=SCHEMES,
        open=_store("open_sink"),
        check=check_store,
        absolute=absolute_url,
        left=_store("left_in_store"),
        replaced=_store("replaced_in_store"),
        record=RunRecord(_store("begin_run"), _store("complete_run"), _store("break_off_run")),
    )
)


def _check_tables(option: str, url: str) -> None:
    try:
        deferred("io.bigquery_source", "parse_dataset")(url)
    except ValueError as error:
        raise ConfigError(f"{option} {url}: {error}") from None
    check_extra(f"{option} {url}", "turnwise[gcp]")


register_sink(
    SinkKind(
        name="bigquery",
        help="bigquery://PROJECT/DATASET",
        schemes=("bigquery",),
        open=_staging("open_staging"),
        append=_bigquery("BigQueryChanges"),
        prepare=lambda given: _bigquery("try_stream" if given.is_streaming else "try_tables")(given),
        check=_check_tables,
        complete=_bigquery("complete_tables"),
        discard=_staging("discard_staged"),
        left=lambda given: f"{given.url} holds all of it or nothing",
    )
)


def _check_dataset(option: str, url: str) -> None:
    folder = url.partition(":")[2]
    if any(char in folder for char in "*?[]"):
        raise ConfigError(f"{option} {url}: must not contain the characters * ? [ ]")
    check_places(f"{option} parquet:", [folder])


def _absolute_dataset(url: str) -> str:
    scheme, _, folder = url.partition(":")
    folder = folder.removeprefix("file://")
    return url if "://" in folder else f"{scheme}:{Path(folder).absolute()}"


register_sink(
    SinkKind(
        name="parquet",
        help="parquet:FOLDER, parquet:gs://BUCKET/FOLDER",
        schemes=("parquet",),
        takes_paths=True,
        open=_staging("open_staging"),
        prepare=_parquet("prepare_dataset"),
        check=_check_dataset,
        absolute=_absolute_dataset,
        complete=_parquet("complete_dataset"),
        discard=_staging("discard_staged"),
        left=lambda given: f"{given.url} holds nothing of it, unless it was just being completed",
    )
)


def _check_receiver(option: str, url: str) -> None:
    if not url.partition("://")[2].strip("/"):
        raise ConfigError(f"{option} {url}: must be otlp://HOST:PORT, or otlps:// with TLS")
    check_extra(f"{option} {url}", "turnwise[otlp]", "opentelemetry.exporter.otlp.proto.http")


register_sink(
    SinkKind(
        name="otlplogs",
        help="otlp://HOST:PORT",
        schemes=("otlp", "otlps"),
        option="--scores_to",
        open=_otlp("OtlpSink"),
        append=_otlp("OtlpChanges"),
        prepare=_otlp("try_receiver"),
        check=_check_receiver,
        complete=_otlp("lost_scores"),
        left=lambda given: f"{given.url} may have scores of it",
    )
)
