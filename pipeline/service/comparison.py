"""Compares two app versions or two runs of an app."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select

from turnwise.pipeline.runs.store import StoredRuns
from turnwise.pipeline.service.computed_fields import read_paging
from turnwise.pipeline.service.evaluations import filter_conditions
from turnwise.pipeline.service.runs import Service, find_run, run_summaries
from turnwise.pipeline.service.serve import ServiceError, field_errors, invalid
from turnwise.pipeline.service.version_verdict import ComparedPair, EvaluationPair, Verdicts, changes_page
from turnwise.pipeline.store.database import EVALUATIONS, key_text
from turnwise.pipeline.store.rows import EvaluationFigures, version_id
from turnwise.pipeline.store.runs import RunState, count_by_evaluation, run_key
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import CompareAppVersionsRequest, CompareEvaluationRunsRequest
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.ces.judgements import VersionSums, aggregated_metrics
from turnwise.transforms.metrics.state import Sums, add_sums
from turnwise.transforms.statistics.tests import wilson_interval

_Stored = tuple[dict[str, EvaluationFigures], dict[str, str], Callable[[], JsonObject]]


def compare_app_versions(service: Service, request: CompareAppVersionsRequest) -> JsonObject:
    """Returns the figures of two versions and the evaluations that changed, regressed ones first.

    Raises:
        ServiceError: The request is invalid, or a version has no results.
    """
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    base = _version("baseVersion", request.base_version)
    candidate = _version("candidateVersion", request.candidate_version)
    if base == candidate:
        raise invalid("candidateVersion", "is the same as baseVersion; there is nothing to compare")
    identity = ("comparison", app, base, candidate, request.evaluation_filter)
    paging = read_paging(request.page_size, request.page_token, *identity)
    figures, display_names, verdict = _read_versions(
        service, app, request.evaluation_filter, (base, candidate)
    )
    pairs = [
        EvaluationPair(name, _verdicts_of(own, base), _verdicts_of(own, candidate))
        for name, own in figures.items()
    ]
    return {
        "base": _summary(figures, base),
        "candidate": _summary(figures, candidate),
        "verdict": verdict(),
        **changes_page(pairs, display_names, paging),
    }


def _read_versions(service: Service, app: str, evaluation_filter: str, versions: tuple[str, str]) -> _Stored:
    """Returns figures and display names of the evaluations that match a filter, and what gives the verdict.

    Raises ServiceError if a version has no results.
    """
    conditions = filter_conditions(app, evaluation_filter)
    query = select(EVALUATIONS.c.name, EVALUATIONS.c.display_name).where(
        EVALUATIONS.c.app == app, *conditions
    )

    def work(connection: Connection) -> _Stored:
        found = {name: display_name for name, display_name in connection.execute(query)}
        runs = StoredRuns(connection, app)
        figures = service.cache.read_all(connection, app, runs)
        figures = {name: own for name, own in figures.items() if name in found or not conditions}
        _check_versions(figures, versions)
        pair = ComparedPair(app, "version", *versions, frozenset(found) if conditions else None)
        return figures, found, service.verdicts.read(connection, pair, service.store.url, runs)

    service.keep_summaries(app)
    return service.store.read(work)


def _verdicts_of(own: EvaluationFigures, version: str) -> Verdicts:
    sums = own.versions.get(version)
    return Verdicts(sums.passes, sums.fails) if sums else Verdicts()


def _version(field: str, text: str) -> str:
    if not text:
        raise invalid(field, "is required: the name or id of an app version")
    return key_text(version_id(text))


def _check_versions(figures: Mapping[str, EvaluationFigures], versions: Sequence[str]) -> None:
    known = sorted({version for own in figures.values() for version in own.versions} - {""})
    for version in versions:
        if version not in known:
            there_are = ", ".join(known[:20]) or "none"
            raise ServiceError(
                "NOT_FOUND", f"no result of version {version!r}; versions with results: {there_are}"
            )


def _summary(figures: Mapping[str, EvaluationFigures], version: str) -> JsonObject:
    own = [found for found in figures.values() if version in found.versions]
    sums: Sums = {}
    for found in own:
        add_sums(sums, found.versions[version].sums)
    passes = sum(found.versions[version].passes for found in own)
    fails = sum(found.versions[version].fails for found in own)
    undecided = sum(found.undecided.get(version, 0) for found in own)
    counts = {
        "evaluationCount": len(own),
        "passCount": passes,
        "failCount": fails,
        "undecidedCount": undecided,
    }
    message: JsonObject = {"appVersionId": version, **{name: n for name, n in counts.items() if n}}
    decided = passes + fails
    # An evaluation is one trial, however many results it has.
    trials = min(decided, sum(1 for f in own if f.versions[version].passes + f.versions[version].fails))
    interval = wilson_interval(passes * trials / decided, trials) if decided else None
    if interval is not None:
        rates = {"passRate": passes / decided, "passRateLow": interval.low, "passRateHigh": interval.high}
        message |= rates
    metrics = aggregated_metrics({version: VersionSums(passes, fails, sums)})
    return message | {"metrics": metrics["metricsByAppVersion"][0]}


# Compares two runs of an app.


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
    found = _read_runs(service, app, request.evaluation_filter, (base, candidate))
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


def _read_runs(service: Service, app: str, evaluation_filter: str, names: tuple[str, str]) -> _StoredRuns:
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
        verdict = service.verdicts.read(connection, pair, service.store.url, StoredRuns(connection, app))
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
