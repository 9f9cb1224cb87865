"""Writes the tables of a run as files: JSON Lines or Avro, whole or not at all."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.io import WriteToAvro, WriteToText
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection
from apache_beam.transforms.combiners import ToList
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from pipeline.encoders import AvroRows, IndentedJson, JsonLines
from schemas.avro_schema import avro_schema
from schemas.config import ConfigError
from schemas.rows import TABLES
from schemas.values import JsonObject

SINGLE_FILES = ("metrics_by_app_version", "metrics_by_turn")
AGGREGATED = "aggregated_metrics"
RUN_FILE = "run.json"
_JOINED_BYTES = 1 << 18
_OURS = re.compile(
    r"((scores|results|failures)(-sessions)?-\d{5}-of-\d{5}\.(jsonl|avro)"
    r"|(metrics_by_app_version|metrics_by_turn)\.(jsonl|avro)|aggregated_metrics\.json|run\.json)"
    r"(\.[0-9a-f]{32}\.partial)?"
)


class Sink(Protocol):
    """Takes the tables of a run."""

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Adds the steps that write lists of rows; `part` tells several writers of one table apart."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document."""


class FileSink:
    """Files in one directory, on any filesystem that Beam knows.

    A file gets its final name when it is complete, so that what stands under a final name is always whole.
    """

    def __init__(self, directory: str, output_format: Literal["jsonl", "avro"]) -> None:
        """Keeps the target."""
        self._directory, self._format = directory, output_format

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Writes `TABLE-*.jsonl` (or `.avro`); the metrics tables are one file each."""
        label, suffix = f"Write_{table}{part}", f".{self._format}"
        prefix = FileSystems.join(self._directory, f"{table}-{part.lower()}" if part else table)
        if table in SINGLE_FILES:
            encode = AvroRows(table) if self._format == "avro" else JsonLines(table)
            gathered = rows | f"{label}_Gather" >> ToList()
            gathered | label >> beam.ParDo(_WriteFileFn(prefix + suffix, encode))
        elif self._format == "avro":
            records = rows | f"{label}_Rows" >> beam.FlatMap(AvroRows(table).records)
            schema = avro_schema(table)
            records | label >> WriteToAvro(prefix, schema, file_name_suffix=suffix)
        else:
            lines = rows | f"{label}_Lines" >> beam.ParDo(_JoinLinesFn(JsonLines(table)))
            lines | label >> WriteToText(
                prefix, file_name_suffix=suffix, coder=BytesCoder(), skip_if_empty=bool(part)
            )

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Writes `NAME.json`, indented."""
        path = FileSystems.join(self._directory, f"{name}.json")
        document | f"Write_{name}" >> beam.ParDo(_WriteFileFn(path, IndentedJson()))


class _JoinLinesFn(beam.DoFn):
    """Joins the lines of many rows, because the writer's work is the same for every element of any size."""

    def __init__(self, encode: JsonLines) -> None:
        self._encode = encode

    def start_bundle(self) -> None:
        self._texts: list[bytes] = []
        self._size = 0

    def process(self, rows: Sequence[JsonObject]) -> Iterator[bytes]:
        for text in self._encode.texts(rows):
            self._texts.append(text)
            self._size += len(text)
        if self._size > _JOINED_BYTES:
            yield self._take()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._texts:
            yield GlobalWindows.windowed_value(self._take())

    def _take(self) -> bytes:
        joined, self._texts, self._size = b"\n".join(self._texts), [], 0
        return joined


class _WriteFileFn(beam.DoFn):
    def __init__(self, path: str, encode: "JsonLines | AvroRows | IndentedJson") -> None:
        self._path, self._encode = path, encode

    def process(self, content: Any) -> None:
        write_whole(self._path, self._encode.file(content))


def write_whole(path: str, content: bytes) -> None:
    """Writes a file in one step: under a name of its own first, then renamed."""
    partial = f"{path}.{uuid4().hex}.partial"
    with FileSystems.create(partial) as file:
        file.write(content)
    FileSystems.rename([partial], [path])


def earlier_files(directory: str) -> list[str]:
    """Returns the files of an earlier run in a directory, and what an unfinished run left behind."""
    names = [f"{name}*" for name in (*TABLES, AGGREGATED, RUN_FILE)]
    found = FileSystems.match([FileSystems.join(directory, name) for name in names])
    paths = [file.path for result in found for file in result.metadata_list]
    return [path for path in paths if _OURS.fullmatch(path.rsplit("/", 1)[-1])]


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


def clear_directory(directory: str) -> None:
    """Removes an earlier run from a directory, whole or unfinished, and nothing else."""
    found = earlier_files(directory)
    if found:
        FileSystems.delete(found)
    for table in (*TABLES, AGGREGATED):
        for leftover in Path(directory).glob(f"beam-temp-{table}*"):
            shutil.rmtree(leftover, ignore_errors=True)


def write_run_file(directory: str, document: JsonObject) -> None:
    """Writes `run.json`, the last file of a run."""
    write_whole(FileSystems.join(directory, RUN_FILE), IndentedJson().file(document))


def read_rows(directory: str, table: str, output_format: str) -> list[JsonObject]:
    """Reads back the rows of a table that is one file."""
    with FileSystems.open(FileSystems.join(directory, f"{table}.{output_format}")) as file:
        if output_format == "avro":
            import fastavro

            return [row for row in fastavro.reader(file) if isinstance(row, dict)]
        return [json.loads(line) for line in file.read().splitlines()]
