"""Exports evaluations, results and runs."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import Connection, select

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.operations.jobs import Going, Job
from turnwise.pipeline.service.operations.kinds import EXPORT, EXPORT_RESULTS, EXPORT_RUNS, OperationKind
from turnwise.pipeline.service.results import get_evaluation_result
from turnwise.pipeline.service.runs import get_evaluation_run
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.transfer.documents import EVALUATIONS, RESULTS, RUNS, ExportedDocument, zipped
from turnwise.pipeline.service.transfer.places import check_uri, write_file
from turnwise.pipeline.store.evaluations import find_evaluation
from turnwise.pipeline.store.tables import RESULTS as RESULTS_VIEW
from turnwise.schemas.ces.names import app_of, checked_name, parent_of
from turnwise.schemas.ces.transfers import (
    ExportEvaluationResultsRequest,
    ExportEvaluationRunsRequest,
    ExportEvaluationsRequest,
    ExportOptions,
)
from turnwise.schemas.values import JsonObject

_URI = "exportOptions.gcsUri"

ReadDocuments = Callable[[str], Iterator[ExportedDocument]]
"""Yields the documents of a name; raises ServiceError."""


def export_evaluations(service: Service, request: ExportEvaluationsRequest) -> JsonObject:
    """Begins an export of evaluations, of their results, or both.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    if not (request.include_evaluations or request.include_evaluation_results):
        raise invalid("includeEvaluations", "it or includeEvaluationResults must be true")
    _check_names("evaluation", request.names, app)

    def read(name: str) -> Iterator[ExportedDocument]:
        if request.include_evaluations:
            yield _evaluation(service, name)
        if request.include_evaluation_results:
            results = service.store.read(lambda connection: _result_names(connection, name))
            if not results and not request.include_evaluations:
                raise ServiceError("NOT_FOUND", f"no result of {name} was found")
            yield from (_result(service, result) for result in results)

    return _begin(service, EXPORT, request.names, request.export_options, read)


def export_evaluation_results(service: Service, request: ExportEvaluationResultsRequest) -> JsonObject:
    """Begins an export of results of an evaluation, or (`.../evaluations/-`) of an app.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("parent"):
        parent = checked_name("parent of results", request.parent)
    _check_names("result", request.names, app_of(parent) if parent.endswith("/-") else parent)
    return _begin(
        service,
        EXPORT_RESULTS,
        request.names,
        request.export_options,
        lambda name: iter([_result(service, name)]),
    )


def export_evaluation_runs(service: Service, request: ExportEvaluationRunsRequest) -> JsonObject:
    """Begins an export of runs.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    _check_names("run", request.names, app)

    def read(name: str) -> Iterator[ExportedDocument]:
        yield ExportedDocument(f"{RUNS}/{name.rsplit('/', 1)[-1]}", get_evaluation_run(service, name))

    return _begin(service, EXPORT_RUNS, request.names, request.export_options, read)


def _check_names(kind: str, names: Sequence[str], parent: str) -> None:
    if not names:
        raise invalid("names", "is required")
    for place, name in enumerate(names):
        with field_errors(f"names[{place}]"):
            checked_name(kind, name)
        if not name.startswith(f"{parent}/"):
            raise invalid(f"names[{place}]", f"is not in {parent}")
    if len(set(names)) != len(names):
        raise invalid("names", "holds a name twice")


def _begin(
    service: Service,
    kind: OperationKind,
    names: Sequence[str],
    options: ExportOptions | None,
    read: ReadDocuments,
) -> JsonObject:
    chosen = options or ExportOptions()
    if int(chosen.export_format) not in (0, 1, 2):
        raise invalid("exportOptions.exportFormat", "is neither JSON nor YAML")
    if chosen.gcs_uri:
        check_uri(_URI, chosen.gcs_uri)

    def work(going: Going) -> JsonObject:
        failed: dict[str, str] = {}
        content = zipped(_documents(going, names, read, failed), chosen.export_format)
        if failed and kind is not EXPORT:
            name, why = next(iter(failed.items()))
            raise ServiceError("NOT_FOUND", f"{len(failed)} of {len(names)} were not exported: {why}", name)
        if len(failed) == len(names):
            raise ServiceError("NOT_FOUND", f"none was exported: {next(iter(failed.values()))}", "names")
        return _answer(going, kind, chosen, content) | ({"failedEvaluations": failed} if failed else {})

    return service.begin(Job(kind, app_of(names[0]), work, {}))


def _documents(
    going: Going, names: Sequence[str], read: ReadDocuments, failed: dict[str, str]
) -> Iterator[ExportedDocument]:
    for name in names:
        going.check()
        try:
            found = list(read(name))
        except ServiceError as error:
            failed[name] = error.message
            continue
        yield from found


_FIELDS = {EXPORT: EVALUATIONS, EXPORT_RESULTS: RESULTS, EXPORT_RUNS: RUNS}


def _answer(going: Going, kind: OperationKind, options: ExportOptions, content: bytes) -> JsonObject:
    field = _FIELDS[kind]
    if not options.gcs_uri:
        return {f"{field}Content": b64encode(content).decode()}
    uri = options.gcs_uri
    if not uri.endswith(".zip"):
        uri = f"{uri.rstrip('/')}/{field}-{going.operation.name.rsplit('/', 1)[-1]}.zip"
    write_file(_URI, uri, content)
    return {f"{field}Uri": uri}


def _evaluation(service: Service, name: str) -> ExportedDocument:
    found = service.store.read(lambda connection: find_evaluation(connection, name))
    if found is None:
        raise ServiceError("NOT_FOUND", f"{name} was not found")
    return ExportedDocument(f"{EVALUATIONS}/{name.rsplit('/', 1)[-1]}", found.content)


def _result(service: Service, name: str) -> ExportedDocument:
    evaluation = parent_of(name).rsplit("/", 1)[-1]
    return ExportedDocument(
        f"{RESULTS}/{evaluation}/{name.rsplit('/', 1)[-1]}", get_evaluation_result(service, name)
    )


def _result_names(connection: Connection, evaluation: str) -> list[str]:
    query = select(RESULTS_VIEW.c.name).where(RESULTS_VIEW.c.evaluation == evaluation)
    return list(connection.execute(query.order_by(RESULTS_VIEW.c.name)).scalars())
