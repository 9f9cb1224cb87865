"""Imports evaluations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

from sqlalchemy import Connection

from turnwise.pipeline.service.answering import answered
from turnwise.pipeline.service.changes import create_evaluation, update_evaluation
from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.operations.jobs import Going, Job, StoppedError
from turnwise.pipeline.service.operations.kinds import IMPORT
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.transfer.documents import RESULTS, RUNS
from turnwise.pipeline.service.transfer.sources import FoundEvaluation, check_source, found_evaluations
from turnwise.pipeline.store.evaluations import find_by_display_name, find_evaluation
from turnwise.pipeline.store.tables import EVALUATIONS
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.names import checked_name, is_id
from turnwise.schemas.ces.requests import CreateEvaluationRequest
from turnwise.schemas.ces.transfers import ConflictResolutionStrategy, ImportEvaluationsRequest, ImportOptions
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject

_SHOWN = 5
_Strategy = ConflictResolutionStrategy
_COUNTS = {
    "": "importFailureCount",
    RESULTS: "evaluationResultImportFailureCount",
    RUNS: "evaluationRunImportFailureCount",
}


class _Import(NamedTuple):
    service: Service
    app: str
    strategy: ConflictResolutionStrategy


def import_evaluations(service: Service, request: ImportEvaluationsRequest) -> JsonObject:
    """Begins an import of evaluations.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    strategy = (request.import_options or ImportOptions()).conflict_resolution_strategy
    if int(strategy) not in (0, 1, 2, 3):
        raise invalid("importOptions.conflictResolutionStrategy", "is none of OVERWRITE, SKIP and DUPLICATE")
    check_source(request)
    return service.begin(Job(IMPORT, app, partial(_import, _Import(service, app, strategy), request), {}))


def _import(into: _Import, request: ImportEvaluationsRequest, going: Going) -> JsonObject:
    """Reads all of the source, then stores one evaluation after the other; what fails does not end it."""
    made: list[JsonObject] = []
    faults: list[str] = []
    counts: Counter[str] = Counter()
    for found in _each_once(found_evaluations(into.service, request)):
        try:
            going.check()
            made += answered(partial(_imported, into, found))
        except StoppedError:
            raise StoppedError(f"it was cancelled; it had imported {len(made)} evaluations") from None
        except ServiceError as error:
            where = f" {error.field}:" if error.field else ""
            faults.append(f"{found.place}:{where} {error.message}")
            counts[_COUNTS[found.kind]] += 1
    return {
        **({"evaluations": made} if made else {}),
        **({"errorMessages": faults} if faults else {}),
        **counts,
    }


def _each_once(found: Iterable[FoundEvaluation]) -> list[FoundEvaluation]:
    """Returns what a source holds; of evaluations with one id or display name, why none is imported."""
    everything = list(found)
    places: dict[tuple[str, str], list[str]] = {}
    for one in everything:
        for key in _keys(one):
            places.setdefault(key, []).append(one.place)
    return [_if_once(one, places) for one in everything]


def _keys(one: FoundEvaluation) -> list[tuple[str, str]]:
    content = one.content or {}
    keys = ("id", _own_id(content)), ("displayName", content.get("displayName", ""))
    return [(what, text) for what, text in keys if text]


def _if_once(one: FoundEvaluation, places: Mapping[tuple[str, str], Sequence[str]]) -> FoundEvaluation:
    for what, text in _keys(one):
        if len(places[what, text]) > 1:
            shared = " and ".join(places[what, text][:_SHOWN])
            return one._replace(content=None, fault=f"{shared} have the same {what} {shown(text)}")
    return one


def _own_id(content: JsonObject) -> str:
    """Returns the id that the name of an evaluation ends in; "": it has none."""
    return str(content.get("name", "")).rsplit("/", 1)[-1]


def _imported(into: _Import, found: FoundEvaluation) -> list[JsonObject]:
    """Imports an evaluation and returns it in a list; empty: one that is there already is kept.

    Raises:
        ServiceError: It cannot be imported.
    """
    if found.content is None:
        raise ServiceError("INVALID_ARGUMENT", found.fault)
    own = _own_id(found.content)
    if own and not is_id(own):
        raise invalid("name", "its last part must have at most 100 letters, digits and . _ ~ -")
    taken = into.service.store.read(lambda connection: _taken(connection, into.app, own, found.content or {}))
    if taken is None:
        return [_created(into, found.content, own)]
    if into.strategy == _Strategy.SKIP:
        return []
    if into.strategy == _Strategy.OVERWRITE:
        evaluation = Evaluation.from_value({**found.content, "name": taken})
        return [update_evaluation(into.service, evaluation)]
    if into.strategy == _Strategy.DUPLICATE:
        return [_created(into, found.content, "", is_copy=True)]
    raise ServiceError("ALREADY_EXISTS", f"{taken} exists already; name a conflictResolutionStrategy")


def _taken(connection: Connection, app: str, own: str, content: JsonObject) -> str | None:
    """Returns the evaluation of that id, or, without an id, of that display name; None: there is none."""
    if not own:
        return find_by_display_name(connection, EVALUATIONS, app, content.get("displayName", ""))
    name = f"{app}/evaluations/{own}"
    return name if find_evaluation(connection, name) else None


def _created(into: _Import, content: JsonObject, own: str, is_copy: bool = False) -> JsonObject:
    fields = {key: value for key, value in content.items() if key != "name"}
    if is_copy:
        fields["displayName"] = _free_name(into, fields.get("displayName", ""))
    request = CreateEvaluationRequest(
        parent=into.app, evaluation_id=own, evaluation=Evaluation.from_value(fields)
    )
    return create_evaluation(into.service, request)


def _free_name(into: _Import, name: str) -> str:
    """Returns a display name that the app does not have."""

    def work(connection: Connection) -> str:
        names = (name if number == 1 else f"{name} ({number})" for number in count(1))
        return next(
            each for each in names if find_by_display_name(connection, EVALUATIONS, into.app, each) is None
        )

    return into.service.store.read(work)
