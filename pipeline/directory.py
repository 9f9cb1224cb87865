"""The files of a run in its output directory, on any filesystem that Beam knows."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from apache_beam.io.filesystems import FileSystems

from pipeline.encoders import OutputFormat, document_content
from schemas.config import ConfigError
from schemas.rows import TABLES
from schemas.values import JsonObject

SINGLE_FILES = ("metrics_by_app_version", "metrics_by_turn")
AGGREGATED = "aggregated_metrics"
RUN_FILE = "run.json"
_OURS = re.compile(
    r"(scores|results|failures)-\d{5}-of-\d{5}\.(jsonl|avro)"
    r"|(metrics_by_app_version|metrics_by_turn)\.(jsonl|avro)|aggregated_metrics\.json|run\.json"
    r"|[a-z_.]+\.[0-9a-f]{32}\.partial"
)


def partial_path(directory: str, name: str) -> str:
    """Returns a path of its own for a file that is being written."""
    return FileSystems.join(directory, f"{name}.{uuid4().hex}.partial")


def write_whole(directory: str, name: str, content: bytes) -> None:
    """Writes a file in one step: under a name of its own first, then renamed."""
    partial = partial_path(directory, name)
    with FileSystems.create(partial) as file:
        file.write(content)
    FileSystems.rename([partial], [FileSystems.join(directory, name)])


def publish_shards(directory: str, table: str, shards: Sequence[str], output_format: OutputFormat) -> None:
    """Gives the written shards of a table their final names; those that have one already are left alone."""
    names = [f"{table}-{i:05}-of-{len(shards):05}.{output_format}" for i in range(len(shards))]
    places = [FileSystems.join(directory, name) for name in names]
    waiting = [(shard, place) for shard, place in zip(shards, places, strict=True) if _waits(shard, place)]
    if waiting:
        FileSystems.rename([shard for shard, _ in waiting], [place for _, place in waiting])


def _waits(shard: str, place: str) -> bool:
    """Tells whether a shard is still to be renamed; an engine may repeat a step that was done in part."""
    return FileSystems.exists(shard) or not FileSystems.exists(place)


def earlier_files(directory: str) -> list[str]:
    """Returns the files of an earlier run in a directory, and what an unfinished run left behind."""
    names = [f"{name}*" for name in (*TABLES, AGGREGATED, RUN_FILE)]
    found = FileSystems.match([FileSystems.join(directory, name) for name in names])
    paths = [file.path for result in found for file in result.metadata_list]
    return [path for path in paths if _OURS.fullmatch(path.rsplit("/", 1)[-1])]


def clear_directory(directory: str) -> None:
    """Removes an earlier run from a directory, whole or unfinished, and nothing else."""
    found = earlier_files(directory)
    if found:
        FileSystems.delete(found)


def clear_partial_files(directory: str) -> None:
    """Removes what steps that were repeated left behind."""
    left = [path for path in earlier_files(directory) if path.endswith(".partial")]
    if left:
        FileSystems.delete(left)


def check_directory(directory: str, overwrite: bool) -> None:
    """Raises ConfigError if a directory cannot be used, or holds an earlier run that must not be replaced."""
    if "://" not in directory and Path(directory).exists() and not Path(directory).is_dir():
        raise ConfigError(f"--output {directory}: is not a directory")
    if any(char in directory for char in "*?[]"):
        raise ConfigError(f"--output {directory}: the characters * ? [ ] are not possible in it")
    found = [] if overwrite else earlier_files(directory)
    if found:
        name = found[0].rsplit("/", 1)[-1]
        raise ConfigError(f"--output {directory}: holds an earlier run ({name}); --overwrite replaces it")


def write_run_file(directory: str, document: JsonObject) -> None:
    """Writes `run.json`, the last file of a run."""
    write_whole(directory, RUN_FILE, document_content(document))


def read_rows(directory: str, table: str, output_format: str) -> list[JsonObject]:
    """Reads back the rows of a table that is one file."""
    with FileSystems.open(FileSystems.join(directory, f"{table}.{output_format}")) as file:
        if output_format == "avro":
            import fastavro

            return [row for row in fastavro.reader(file) if isinstance(row, dict)]
        return [json.loads(line) for line in file.read().splitlines()]
