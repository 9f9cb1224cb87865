"""The services that take tables of a run: a store, BigQuery, a dataset of Parquet files, a receiver of OTLP.

A service is known to every run, and its libraries are imported by runs that name it.
"""

from pathlib import Path

from turnwise.pipeline.io.sinks.base import RunRecord, SinkKind, deferred, register_sink
from turnwise.pipeline.settings.extras import check_extra, check_places, check_store
from turnwise.pipeline.store.urls import absolute_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import SCHEMES

register_sink(
    SinkKind(
        name="store",
        help="sqlite:///FILE, postgresql://...",
        schemes=SCHEMES,
        open=deferred("io.store", "open_sink"),
        check=check_store,
        absolute=absolute_url,
        left=deferred("io.store", "left_in_store"),
        replaced=deferred("io.store", "replaced_in_store"),
        record=RunRecord(
            *(deferred("io.store", name) for name in ("begin_run", "complete_run", "break_off_run"))
        ),
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
        open=deferred("io.staging", "open_staging"),
        append=deferred("io.bigquery_sink", "BigQueryChanges"),
        prepare=deferred("io.bigquery_sink", "try_tables"),
        check=_check_tables,
        complete=deferred("io.bigquery_sink", "complete_tables"),
        discard=deferred("io.staging", "discard_staged"),
        left=lambda given: f"{given.url} holds all of it or nothing",
    )
)


def _folder(url: str) -> str:
    return url.partition(":")[2].rstrip("/") or "/"


def _check_dataset(option: str, url: str) -> None:
    if any(char in url for char in "*?[]"):
        raise ConfigError(f"{option} {url}: must not contain the characters * ? [ ]")
    check_places(f"{option} parquet:", [_folder(url)])


def _absolute_dataset(url: str) -> str:
    folder = url.partition(":")[2].removeprefix("file://")
    return url if "://" in folder else f"parquet:{Path(folder).absolute()}"


register_sink(
    SinkKind(
        name="parquet",
        help="parquet:FOLDER, parquet:gs://BUCKET/FOLDER",
        schemes=("parquet",),
        folder=_folder,
        open=deferred("io.staging", "open_staging"),
        prepare=deferred("io.staging", "prepare_dataset"),
        check=_check_dataset,
        absolute=_absolute_dataset,
        complete=deferred("io.staging", "complete_dataset"),
        discard=deferred("io.staging", "discard_staged"),
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
        open=deferred("io.otlp_sink", "OtlpSink"),
        append=deferred("io.otlp_sink", "OtlpChanges"),
        prepare=deferred("io.otlp_sink", "try_receiver"),
        check=_check_receiver,
        complete=deferred("io.otlp_sink", "lost_scores"),
        left=lambda given: f"{given.url} may have scores of it",
    )
)
