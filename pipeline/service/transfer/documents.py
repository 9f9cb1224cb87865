"""The files of an export: JSON or YAML documents in a zip file; and how they are read back."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import yaml

from turnwise.pipeline.io.yaml_loader import CheckedLoader
from turnwise.pipeline.service.errors import ServiceError, invalid
from turnwise.pipeline.service.transfer.places import MOST_BYTES, check_size
from turnwise.pipeline.service.validation import check_lists
from turnwise.schemas.ces.transfers import ExportFormat
from turnwise.schemas.values import JsonObject, JsonValue

EVALUATIONS, RESULTS, RUNS = "evaluations", "evaluationResults", "evaluationRuns"
"""Folders of an export."""

_ZIP = b"PK"
_MOST_FILES = 10_000
_YAML = (".yaml", ".yml")
# Texts of a fixed time, so that equal exports are equal files.
_TIME = (1980, 1, 1, 0, 0, 0)


class ExportedDocument(NamedTuple):
    """A document of an export.

    Attributes:
        path: Its path in the zip file, without suffix.
    """

    path: str
    value: JsonObject


def zipped(documents: Iterable[ExportedDocument], form: ExportFormat) -> bytes:
    """Returns a zip file of documents; raises ServiceError if they are too large."""
    buffer, size = io.BytesIO(), 0
    is_yaml = form == ExportFormat.YAML
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for document in documents:
            text = (_yaml if is_yaml else _json)(document.value).encode()
            size += len(text)
            check_size("names", size)
            name = f"{document.path}{_YAML[0] if is_yaml else '.json'}"
            file.writestr(zipfile.ZipInfo(name, _TIME), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _yaml(value: JsonObject) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False))


class _Dumper(yaml.SafeDumper):
    """Writes a value that stands in several places each time, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """Returns that no value gets an anchor."""
        return True


def _quoted(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Within single quotes, a line separator would be read back as a blank.
    style = None if text.replace("\n", "").isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _quoted)


class File(NamedTuple):
    """A file of an import."""

    name: str
    content: bytes


def files_of(name: str, content: bytes) -> list[File]:
    """Returns a file, or the files of a zip file.

    Raises:
        ServiceError: The zip file is broken or too large.
    """
    if not content.startswith(_ZIP):
        return [File(name, content)]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return list(_unzipped(file))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise invalid(name, f"cannot be unpacked: {error}") from None


def _unzipped(file: zipfile.ZipFile) -> Iterator[File]:
    entries = [entry for entry in file.infolist() if not entry.is_dir()]
    if len(entries) > _MOST_FILES:
        raise ServiceError("INVALID_ARGUMENT", f"the zip file holds more than {_MOST_FILES} files")
    left = MOST_BYTES
    for entry in entries:
        with file.open(entry) as part:
            content = part.read(left + 1)
        left -= len(content)
        check_size("the zip file", MOST_BYTES - left)
        yield File(entry.filename, content)


def records_of(file: File) -> list[JsonValue]:
    """Returns the records of a JSON, JSON Lines or YAML file.

    Raises:
        ValueError: It is neither, or holds too many values.
    """
    try:
        text = file.content.decode("utf-8-sig")
        value = _parsed(file.name.lower(), text)
        json.dumps(value, allow_nan=False)
        for record in value:
            if isinstance(record, dict):
                check_lists(record)
    except TypeError as error:
        raise ValueError(f"holds a value that JSON has not: {error}") from None
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"cannot be read: {' '.join(str(error).split())[:300]}") from None
    except ServiceError as error:
        raise ValueError(error.message) from None
    return value


def _parsed(name: str, text: str) -> list[JsonValue]:
    if name.endswith(_YAML):
        value = yaml.load(text, Loader=CheckedLoader)
        if value is None:
            raise ValueError("the file is empty")
        return _listed(value)
    try:
        return _listed(json.loads(text, object_pairs_hook=_once))
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
    return [json.loads(line, object_pairs_hook=_once) for line in lines]


def _listed(value: JsonValue) -> list[JsonValue]:
    """Returns the records of a document: one, a list of them, or those under `evaluations`."""
    if isinstance(value, dict) and isinstance(value.get(EVALUATIONS), list) and len(value) == 1:
        return list(value[EVALUATIONS])
    return value if isinstance(value, list) else [value]


def _once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return found
