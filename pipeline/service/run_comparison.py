"""Compares two runs of an app."""

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.evaluation_changes import EvaluationPair, Verdicts, changes_page
from turnwise.pipeline.service.evaluations import filter_conditions
from turnwise.pipeline.service.lists import read_paging
from turnwise.pipeline.service.runs import find_run, run_summaries
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.version_verdict import ComparedPair
from turnwise.pipeline.store.database import EVALUATIONS
from turnwise.pipeline.store.runs import RunState, count_by_evaluation, run_key
from turnwise.pipeline.store.summaries import Summaries
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import CompareEvaluationRunsRequest
from turnwise.schemas.jsonio import JsonObject


class _StoredRuns(NamedTuple):
    """What is read of two runs; `verdict` gives the verdict without a connection."""

    base: JsonObject
    candidate: JsonObject
    pairs: list[EvaluationPair]
    display_names: dict[str, str]
    verdict: Callable[[], JsonObject]


def compare_evaluation_runs(service: Service, request: CompareEvaluationRunsRequest) -> JsonObject:
    """Returns two runs, the verdict on them, and the evaluations that changed, regressed ones first.

    Raises:
        ServiceError: The request is invalid, or a run is not there, has not ended or broke off.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    base = _run_of(app, "baseRun", request.base_run)
    candidate = _run_of(app, "candidateRun", request.candidate_run)
    if base == candidate:
        raise invalid("candidateRun", "is the same as baseRun; there is nothing to compare")
    identity = ("runs compared", app, base, candidate, request.evaluation_filter)
    paging = read_paging(request.page_size, request.page_token, *identity)
    found = _read(service, app, request.evaluation_filter, (base, candidate))
    return {
        "base": found.base,
        "candidate": found.candidate,
        "verdict": found.verdict(),
        **changes_page(found.pairs, found.display_names, paging),
    }


def _run_of(app: str, field: str, text: str) -> str:
    """Returns the name of a run by its name or id, as the store has it."""
    if not text:
        raise invalid(field, "is required: the name or id of a run")
    if "/" not in text:
        return run_key(app, text)
    with field_errors(field):
        checked_name("run", text)
    if not text.startswith(f"{app}/evaluationRuns/"):
        raise invalid(field, f"is no run of {app}")
    return run_key(app, text.rsplit("/", 1)[-1])


def _read(service: Service, app: str, evaluation_filter: str, names: tuple[str, str]) -> _StoredRuns:
    conditions = filter_conditions(app, evaluation_filter)
    of_app = select(EVALUATIONS.c.name, EVALUATIONS.c.display_name).where(
        EVALUATIONS.c.app == app, *conditions
    )

    def work(connection: Connection) -> _StoredRuns:
        display_names = {name: display_name for name, display_name in connection.execute(of_app)}
        rows = [_ended(find_run(connection, name)) for name in names]
        base, candidate = (_verdicts(connection, row) for row in rows)
        compared = {*base, *candidate} & ({*display_names} if conditions else {*base, *candidate})
        pairs = [
            EvaluationPair(name, base.get(name, Verdicts()), candidate.get(name, Verdicts()))
            for name in sorted(compared)
        ]
        ids = [name.rsplit("/", 1)[-1] for name in names]
        pair = ComparedPair(app, "run", ids[0], ids[1], frozenset(display_names) if conditions else None)
        verdict = service.verdicts.read(connection, pair, service.store.url, Summaries(connection, app))
        told = run_summaries(connection, app, rows)
        return _StoredRuns(told[0], told[1], pairs, display_names, verdict)

    service.keep_summaries(app)
    return service.store.read(work)


def _ended(row: RowMapping) -> RowMapping:
    """Returns the row of a run that figures speak of; raises ServiceError if it is none."""
    state = RunState(*(row[name] for name in RunState._fields))
    if not state.is_counted:
        raise ServiceError("FAILED_PRECONDITION", f"{state.told()}, and is not compared")
    return row


def _verdicts(connection: Connection, row: RowMapping) -> dict[str, Verdicts]:
    counted = count_by_evaluation(connection, row["name"], row["execution"])
    return {
        name: Verdicts(own.get("passedCount", 0), own.get("failedCount", 0)) for name, own in counted.items()
    }
