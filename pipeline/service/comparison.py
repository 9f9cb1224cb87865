"""Compares the results of two app versions."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, select

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.pipeline.service.evaluation_changes import EvaluationPair, Verdicts, changes_page
from turnwise.pipeline.service.evaluations import filter_conditions
from turnwise.pipeline.service.lists import read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.version_verdict import ComparedPair
from turnwise.pipeline.store.database import EVALUATIONS, key_text
from turnwise.pipeline.store.rows import EvaluationFigures, version_id
from turnwise.pipeline.store.summaries import Summaries
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import CompareAppVersionsRequest
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
    figures, display_names, verdict = _read(service, app, request.evaluation_filter, (base, candidate))
    pairs = [
        EvaluationPair(name, _verdicts(own, base), _verdicts(own, candidate)) for name, own in figures.items()
    ]
    return {
        "base": _summary(figures, base),
        "candidate": _summary(figures, candidate),
        "verdict": verdict(),
        **changes_page(pairs, display_names, paging),
    }


def _read(service: Service, app: str, evaluation_filter: str, versions: tuple[str, str]) -> _Stored:
    """Returns figures and display names of the evaluations that match a filter, and what gives the verdict.

    Raises ServiceError if a version has no results.
    """
    conditions = filter_conditions(app, evaluation_filter)
    query = select(EVALUATIONS.c.name, EVALUATIONS.c.display_name).where(
        EVALUATIONS.c.app == app, *conditions
    )

    def work(connection: Connection) -> _Stored:
        found = {name: display_name for name, display_name in connection.execute(query)}
        summaries = Summaries(connection, app)
        figures = service.cache.read_all(connection, app, summaries)
        figures = {name: own for name, own in figures.items() if name in found or not conditions}
        _check_versions(figures, versions)
        pair = ComparedPair(app, "version", *versions, frozenset(found) if conditions else None)
        return figures, found, service.verdicts.read(connection, pair, service.store.url, summaries)

    service.keep_summaries(app)
    return service.store.read(work)


def _verdicts(own: EvaluationFigures, version: str) -> Verdicts:
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
        rates = {
            "passRate": passes / decided,
            "passRateLow": interval.low,
            "passRateHigh": interval.high,
        }
        message |= rates
    metrics = aggregated_metrics({version: VersionSums(passes, fails, sums)})
    return message | {"metrics": metrics["metricsByAppVersion"][0]}
