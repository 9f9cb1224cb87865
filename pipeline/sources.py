"""Reads JSON records from files on any filesystem that Beam knows."""

import glob
import gzip
import json
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import PCollection

from schemas.config import ConfigError
from schemas.failure import KEPT_RECORD_BYTES, Failure, record_failure
from schemas.record import Record
from schemas.values import JsonValue
from transforms.counting import CountingDoFn
from transforms.formats.registry import is_one_record
from transforms.parse import FAILURES
from transforms.wire import dump_json

SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz", ".avro")


OTHER_SUFFIXES = (".yaml", ".yml", ".csv", ".tsv", ".md", ".html", ".xml", ".parquet", ".zip", ".py")
_LINES_TRIED = 3
_LARGEST_ARRAY = 1 << 30
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


class OversizedRecordError(ValueError):
    """A record is larger than the limit."""


class Source(Protocol):
    """Gives the records of a pipeline, and what could not be read."""

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Adds the reading steps to a pipeline; `name` keeps their labels apart."""


def file_patterns(option: str, paths: tuple[str, ...]) -> list[str]:
    """Returns the globs of what an option names; a directory stands for everything readable below it.

    Raises:
        ConfigError: A path is empty, matches no local file, or is a file of a kind that is not read.
    """
    patterns: list[str] = []
    for path in paths:
        try:
            patterns += _patterns_of(path)
        except ValueError as error:
            raise ConfigError(f"{option} {path}: {error}") from None
    return patterns


def _patterns_of(path: str) -> list[str]:
    if "://" in path:
        return [f"{path}**{suffix}" for suffix in SUFFIXES] if path.endswith("/") else [path]
    if not path.strip():
        raise ValueError("an empty path")
    if not Path(path).is_dir():
        path = glob.escape(path) if Path(path).is_file() else path
        if not FileSystems.match([path], limits=[1])[0].metadata_list:
            raise ValueError("no such file")
        if Path(path).suffix.lower() in OTHER_SUFFIXES:
            raise ValueError(f"is none of {', '.join(SUFFIXES)}")
        return [path]
    found = [f"{glob.escape(path)}/**{suffix}" for suffix in SUFFIXES]
    if not any(result.metadata_list for result in FileSystems.match(found, limits=[1] * len(found))):
        raise ValueError(f"no file in it ends in {', '.join(SUFFIXES)}")
    return found


class _ReadFn(CountingDoFn):
    def __init__(self, max_record_bytes: int, lost: str) -> None:
        super().__init__()
        self._limit, self._lost = max_record_bytes, lost

    def process(self, path: str) -> Iterator[Any]:
        try:
            for record in read_records(path, self._limit):
                if isinstance(record, Failure):
                    self.count(self._lost)
                    yield beam.pvalue.TaggedOutput(FAILURES, record)
                else:
                    yield record
        except Exception as error:
            self.count(self._lost)
            yield beam.pvalue.TaggedOutput(FAILURES, record_failure("read", error, Record(path, 0, b"")))


class FileSource:
    """The records of JSON, JSON Lines and Avro files, gzipped or not."""

    def __init__(
        self, patterns: list[str], max_record_bytes: int, lost: str, is_distributed: bool = False
    ) -> None:
        """Keeps what to read.

        Args:
            patterns: Globs.
            max_record_bytes: A larger record is a failure.
            lost: Name of the counter of records that could not be read.
            is_distributed: True: spread the files and their records over the workers.
        """
        self._patterns, self._limit = patterns, max_record_bytes
        self._lost, self._is_distributed = lost, is_distributed

    def read(self, root: beam.Pipeline, name: str) -> "tuple[PCollection[Record], PCollection[Failure]]":
        """Matches the globs and reads every file once, however many globs match it."""
        patterns = root | f"{name}Patterns" >> beam.Create([self._patterns], reshuffle=False)
        files = patterns | f"{name}Files" >> beam.FlatMap(matched_files)
        if self._is_distributed:
            files = files | f"{name}SpreadFiles" >> beam.Reshuffle()
        outputs = files | f"{name}Read" >> beam.ParDo(_ReadFn(self._limit, self._lost)).with_outputs(
            FAILURES, main="records"
        )
        records = outputs["records"]
        if self._is_distributed:
            records = records | f"{name}SpreadRecords" >> beam.Reshuffle()
        return records, outputs[FAILURES]


def matched_files(patterns: list[str]) -> list[str]:
    """Returns the files that globs match, each once, in order of their names."""
    return sorted({file.path for found in FileSystems.match(patterns) for file in found.metadata_list})


def read_records(path: str, limit: int) -> Iterator[Record | Failure]:
    """Yields the records of one file: by its name as Avro, as one JSON text, or as JSON Lines.

    A JSON text that is an array gives its elements. A record over the limit is a failure; reading goes on.
    """
    if path.endswith(".avro"):
        yield from _avro_records(path)
        return
    with _open(path) as file:
        if path.removesuffix(".gz").endswith(".json"):
            yield from _document_records(path, file, limit)
        else:
            yield from _line_records(path, file, limit)


def _open(path: str) -> BinaryIO | gzip.GzipFile:
    file = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    is_gzip = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if is_gzip else file


def _line_records(path: str, file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[Record | Failure]:
    position = 0
    while line := file.readline(limit + 2):
        position += 1
        line = line.removeprefix(BOM) if position == 1 else line
        if len(line) > limit + 1:
            yield _oversized(path, position, line, limit)
            while line and not line.endswith(b"\n"):
                line = file.readline(limit)
        elif line.strip():
            yield Record(path, position, line.rstrip(b"\r\n"))


def oversized_error(limit: int) -> OversizedRecordError:
    """Returns what is said of a record that is larger than `limit` bytes."""
    return OversizedRecordError(f"the record is larger than {limit / 1024 / 1024:g} MB")


def _oversized(path: str, position: int, start: bytes, limit: int) -> Failure:
    record = Record(path, position, start[:KEPT_RECORD_BYTES])
    return record_failure("read", oversized_error(limit), record)


def _document_records(path: str, file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[Record | Failure]:
    text = file.read(limit + 1)
    if len(text) > limit and text.lstrip()[:1] == b"[":
        text += file.read(_LARGEST_ARRAY)
    elif len(text) > limit:
        yield _oversized(path, 1, text, limit)
        return
    text = text.removeprefix(BOM)
    elements = _elements(text)
    if elements is not None:
        yield from (_element(path, position, element, limit) for position, element in enumerate(elements, 1))
    elif _is_json_lines(text):
        for position, line in enumerate(text.split(b"\n"), 1):
            if line and not line.isspace():
                yield Record(path, position, line)
    elif text and not text.isspace():
        yield Record(path, 1, text)


def _element(path: str, position: int, element: JsonValue, limit: int) -> Record | Failure:
    try:
        text = dump_json(element)
        return Record(path, position, text) if len(text) <= limit else _oversized(path, position, text, limit)
    except ValueError as error:
        return record_failure("read", error, Record(path, position, repr(element).encode()))


def _elements(text: bytes) -> list[JsonValue] | None:
    """Returns the records of a JSON array; None if the text is something else, or as a whole one record."""
    if text.lstrip()[:1] != b"[":
        return None
    try:
        elements = json.loads(text)
    except ValueError:
        return None
    return None if is_one_record(elements) else elements


def _is_json_lines(text: bytes) -> bool:
    """Tells whether a file called `.json` holds one JSON text a line: as a whole it is none, a line is."""
    lines = text.strip().split(b"\n")[:_LINES_TRIED]
    return len(lines) > 1 and not _is_json(text) and any(map(_is_json, lines))


def _is_json(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _avro_records(path: str) -> Iterator[Record]:
    import fastavro

    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        for position, row in enumerate(fastavro.reader(file), 1):
            yield Record(path, position, json.dumps(row, default=_plain, ensure_ascii=False).encode())


def _plain(value: object) -> JsonValue:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
