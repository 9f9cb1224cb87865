"""Reads the evaluations that an import names: of files, of tables, of conversations of the store."""

from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.transfer.documents import RESULTS, RUNS, File, files_of, records_of
from turnwise.pipeline.service.transfer.generating import conversation_evaluation
from turnwise.pipeline.service.transfer.places import check_uri, read_file
from turnwise.pipeline.service.transfer.table import table_evaluations
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.transfers import ImportEvaluationsRequest
from turnwise.schemas.proto.json import WireError
from turnwise.schemas.proto.updates import written_fields
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.ces.exports import wire_evaluation

_URI = "gcsUri"
_NOT_IMPORTED = {RESULTS: "results are not imported", RUNS: "runs are not imported"}


class FoundEvaluation(NamedTuple):
    """An evaluation to import, or what cannot be imported.

    Attributes:
        place: Where it was found.
        content: Its written fields; None: it cannot be imported.
        fault: Why not.
        kind: `EVALUATIONS`, or the folder of what is not imported.
    """

    place: str
    content: JsonObject | None
    fault: str = ""
    kind: str = ""


def check_source(request: ImportEvaluationsRequest) -> None:
    """Raises ServiceError if the source of an import is missing or invalid."""
    given = (request.conversation_list, request.gcs_uri, request.csv_content)
    if all(source is None for source in given):
        raise invalid("source", "one of conversationList, gcsUri and csvContent is required")
    if request.gcs_uri is not None:
        check_uri(_URI, request.gcs_uri)
    if request.conversation_list is None:
        return
    if not request.conversation_list.conversations:
        raise invalid("conversationList.conversations", "is required")
    for name in request.conversation_list.conversations:
        with field_errors("conversationList.conversations"):
            checked_name("conversation", name)


def found_evaluations(service: Service, request: ImportEvaluationsRequest) -> Iterator[FoundEvaluation]:
    """Yields what the source of an import holds; raises ServiceError if it cannot be read."""
    if request.conversation_list is not None:
        for name in request.conversation_list.conversations:
            try:
                yield FoundEvaluation(name, conversation_evaluation(service, name))
            except ServiceError as error:
                yield FoundEvaluation(name, None, error.message)
    elif request.csv_content is not None:
        yield from _of_table("", b64decode(request.csv_content))
    elif request.gcs_uri is not None:
        files = files_of(request.gcs_uri, read_file(_URI, request.gcs_uri))
        if not files:
            raise invalid(_URI, "the zip file holds no file")
        for file in files:
            yield from _of_file(file)


def _of_table(file: str, content: bytes) -> Iterator[FoundEvaluation]:
    """Yields the evaluations of a table; raises ServiceError if it is none."""
    for line, golden in table_evaluations(content):
        place = f"{file}: {line}" if file else line
        yield (
            FoundEvaluation(place, None, str(golden))
            if isinstance(golden, ValueError)
            else _read(place, golden)
        )


def _of_file(file: File) -> Iterator[FoundEvaluation]:
    parts = file.name.split("/")
    kind = next((kind for kind in _NOT_IMPORTED if kind in parts[:-1]), None)
    if kind is not None:
        yield FoundEvaluation(file.name, None, _NOT_IMPORTED[kind], kind)
        return
    if file.name.lower().endswith(".csv"):
        try:
            yield from _of_table(file.name, file.content)
        except ServiceError as error:
            yield FoundEvaluation(file.name, None, error.message)
        return
    try:
        records = records_of(file)
    except ValueError as error:
        yield FoundEvaluation(file.name, None, str(error))
        return
    if not records:
        yield FoundEvaluation(file.name, None, "it holds no evaluation")
    for number, record in enumerate(records, 1):
        yield _read(file.name if len(records) == 1 else f"{file.name}, record {number}", record)


def _read(place: str, record: JsonValue) -> FoundEvaluation:
    if not isinstance(record, dict):
        return FoundEvaluation(place, None, "is no JSON object")
    try:
        return FoundEvaluation(place, written_fields(Evaluation.from_json(wire_evaluation(record))))
    except (WireError, TypeError) as error:
        return FoundEvaluation(place, None, str(error))
