"""Writes the tables of a run as files: JSON Lines or Avro, whole or not at all."""

import json
from pathlib import Path
from typing import Any, Literal, Protocol

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.io import WriteToAvro, WriteToText
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection

from schemas.avro_schema import avro_schema, json_fields
from schemas.config import ConfigError
from schemas.rows import TABLES
from schemas.values import JsonObject
from transforms.wire import dump_json

SINGLE_FILES = ("metrics_by_app_version", "metrics_by_turn")
AGGREGATED = "aggregated_metrics"
RUN_FILE = "run.json"


class Sink(Protocol):
    """Takes the tables of a run."""

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Adds the steps that write rows of a table; `part` tells several writers of one table apart."""

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document."""


class FileSink:
    """Files in one directory, on any filesystem that Beam knows.

    Beam writes into a temporary directory beside the target and renames when a table is complete, so that a
    file under its final name is always whole.
    """

    def __init__(self, directory: str, output_format: Literal["jsonl", "avro"]) -> None:
        """Keeps the target."""
        self._directory, self._format = directory, output_format

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Writes `TABLE-*.jsonl` (or `.avro`); the metrics tables are one file each."""
        label, suffix = f"Write_{table}{part}", f".{self._format}"
        prefix = FileSystems.join(self._directory, f"{table}-{part.lower()}" if part else table)
        shards: dict[str, Any] = {"num_shards": 1, "shard_name_template": ""} if table in SINGLE_FILES else {}
        shards["skip_if_empty"] = bool(part)
        if self._format == "avro":
            columns = json_fields(table)
            avro_rows = rows | f"{label}_Columns" >> beam.Map(_with_json_text, columns)
            avro_rows | label >> WriteToAvro(prefix, avro_schema(table), file_name_suffix=suffix, **shards)
            return
        lines = rows | f"{label}_Lines" >> beam.Map(dump_json if table != "results" else _dump_result)
        lines | label >> WriteToText(prefix, file_name_suffix=suffix, coder=BytesCoder(), **shards)

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Writes `NAME.json`, indented."""
        prefix = FileSystems.join(self._directory, name)
        (
            document
            | f"Indent_{name}" >> beam.Map(_indented)
            | f"Write_{name}"
            >> WriteToText(prefix, file_name_suffix=".json", num_shards=1, shard_name_template="")
        )


def _dump_result(row: JsonObject) -> bytes:
    return dump_json(row["result"])


def _indented(document: JsonObject) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _with_json_text(row: JsonObject, columns: list[str]) -> JsonObject:
    texts = {name: None if row[name] is None else dump_json(row[name]).decode() for name in columns}
    return {**row, **texts}


def earlier_files(directory: str) -> list[str]:
    """Returns the files of an earlier run in a directory, unfinished ones included."""
    names = [f"{table}*" for table in TABLES] + [f"{AGGREGATED}.json", RUN_FILE]
    patterns = [FileSystems.join(directory, name) for name in names]
    patterns += [FileSystems.join(directory, f"beam-temp-{table}*", "**") for table in (*TABLES, AGGREGATED)]
    return [file.path for result in FileSystems.match(patterns) for file in result.metadata_list]


def prepare_directory(directory: str, overwrite: bool) -> None:
    """Makes an output directory ready for a run.

    Raises:
        ConfigError: It cannot be used, or holds an earlier run that must not be replaced.
    """
    if "://" not in directory:
        try:
            Path(directory).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--output {directory}: {error.strerror}") from None
    found = earlier_files(directory)
    if found and not overwrite:
        raise ConfigError(
            f"--output {directory}: holds an earlier run ({Path(found[0]).name}); --overwrite replaces it"
        )
    if found:
        FileSystems.delete(found)


def write_run_file(directory: str, document: JsonObject) -> None:
    """Writes `run.json`, the last file of a run, in one step."""
    target = FileSystems.join(directory, RUN_FILE)
    partial = FileSystems.join(directory, f"beam-temp-{RUN_FILE}")
    with FileSystems.create(partial, mime_type="application/json") as file:
        file.write((_indented(document) + "\n").encode())
    FileSystems.rename([partial], [target])


def read_rows(directory: str, table: str, output_format: str) -> list[JsonObject]:
    """Reads back the rows of a table that is one file."""
    with FileSystems.open(FileSystems.join(directory, f"{table}.{output_format}")) as file:
        if output_format == "avro":
            import fastavro

            return [row for row in fastavro.reader(file) if isinstance(row, dict)]
        return [json.loads(line) for line in file.read().splitlines()]
