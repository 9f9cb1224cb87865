"""The sink for a dataset of Parquet files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnwise.pipeline.io.sinks.base import SinkKind, TableSink, register_sink
from turnwise.pipeline.settings.extras import check_places
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas.config import ConfigError


def _open(place: SinkPlace) -> TableSink:
    from turnwise.pipeline.io.parquet_sink import open_dataset

    return open_dataset(place)


def _prepare(place: SinkPlace) -> None:
    from turnwise.pipeline.io.parquet_sink import prepare_dataset

    prepare_dataset(place)


def _complete(place: SinkPlace, staged: Sequence[Any]) -> Sequence[str]:
    from turnwise.pipeline.io.parquet_sink import complete_dataset

    return complete_dataset(place, staged)


def _discard(place: SinkPlace) -> None:
    from turnwise.pipeline.io.parquet_sink import discard_staged

    discard_staged(place)


def _check(option: str, url: str) -> None:
    folder = url.partition(":")[2]
    if any(char in folder for char in "*?[]"):
        raise ConfigError(f"{option} {url}: must not contain the characters * ? [ ]")
    check_places(f"{option} parquet:", [folder])


def _absolute(url: str) -> str:
    scheme, _, folder = url.partition(":")
    folder = folder.removeprefix("file://")
    return url if "://" in folder else f"{scheme}:{Path(folder).absolute()}"


def _left(place: SinkPlace) -> str:
    return f"{place.url} holds nothing of it, unless it was just being completed"


register_sink(
    SinkKind(
        name="parquet",
        help="parquet:FOLDER, parquet:gs://BUCKET/FOLDER",
        schemes=("parquet",),
        takes_paths=True,
        open=_open,
        prepare=_prepare,
        check=_check,
        absolute=_absolute,
        complete=_complete,
        discard=_discard,
        left=_left,
    )
)
