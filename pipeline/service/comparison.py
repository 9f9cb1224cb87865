"""Compares two app versions or two runs of an app."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from sqlalchemy import Connection, select

from turnwise.pipeline.report.comparison import nothing_common, settings_problem
from turnwise.pipeline.runs.directory import versions_named
from turnwise.pipeline.runs.store import StoredRuns, StoredSides, version_key
from turnwise.pipeline.service.computed_fields import (
    Paging,
    Position,
    next_token,
    read_filter,
    read_paging,
    stated,
)
from turnwise.pipeline.service.runs import Service, find_run, named_run, run_summaries
from turnwise.pipeline.service.serve import ServiceError, checked, invalid
from turnwise.pipeline.store.database import EVALUATIONS, evaluation_name, key_text
from turnwise.pipeline.store.runs import RunState, count_by_evaluation
from turnwise.pipeline.store.summaries import filter_fields, keep_summaries
from turnwise.schemas.ces.tools import CompareAppVersionsRequest, CompareEvaluationRunsRequest
from turnwise.schemas.comparison import NO_VERSION, CriterionComparison, Side
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.ces.judgements import VersionSums, aggregated_metrics
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.words import LEAST_CHANGE
from turnwise.transforms.decisions.first_page import NAMED, two_versions
from turnwise.transforms.metrics.state import Sums, add_sums, independent_trials
from turnwise.transforms.statistics.tests import wilson_interval

_Verdicts = Mapping[str, tuple[int, int]]
"""Evaluation -> numbers of results that passed and that failed."""


_MOST = 2**31 - 1
_CASES_SHOWN = 20
_KINDS = ("regressed", "fixed", "unchanged", "onlyBaseline", "onlyCandidate")
_RANKS = {"regressed": 1, "fixed": 2}
_SidesTold = tuple[list[JsonObject], list[_Verdicts], Iterable[str]]
"""What is told of baseline and candidate, their verdicts, and the evaluations."""


def compare_app_versions(service: Service, request: CompareAppVersionsRequest) -> JsonObject:
    """Returns the figures of two versions and the evaluations that changed, regressed ones first."""
    app = checked("app", request.parent)
    given = {"baselineVersion": request.baseline_version, "candidateVersion": request.candidate_version}
    for field, text in given.items():
        if not text:
            raise invalid(field, "is required: the name or id of an app version")
    versions = [version_key(text) for text in given.values()]

    def tell(connection: Connection, compared: Collection[str] | None) -> _SidesTold:
        every = service.cache.read(connection, app)
        figures = {name: every[name] for name in every if compared is None or name in compared}
        known = sorted({version for figure in figures.values() for version in figure.versions})
        messages, verdicts = [], list[_Verdicts]()
        for named in versions:
            meant = versions_named(named, known)
            if len(meant) != 1:
                what = "several versions are called" if meant else "no result of version"
                of = "" if compared is None else " of the evaluations that evaluationFilter chooses"
                reason = f"{what} {named or NO_VERSION!r}; versions with results{of}: "
                names = [version or NO_VERSION for version in known[:20]]
                raise ServiceError("NOT_FOUND", reason + (", ".join(names) or "none"))
            version = meant[0] or ""
            totals = {name: of.versions[version] for name, of in figures.items() if version in of.versions}
            verdicts.append({name: (total.passes, total.fails) for name, total in totals.items()})
            no_verdict = {name: figures[name].no_verdict.get(version, 0) for name in totals}
            # A conversation without a case is one of its own, as in the metrics of a run.
            loose = evaluation_name(app, None)
            cases = sum(sum(verdicts[-1][n]) + no_verdict[n] if n == loose else 1 for n in totals)
            messages.append(_version_summary(version, totals.values(), sum(no_verdict.values()), cases))
        return messages, verdicts, figures

    return _comparison(service, request, "version", versions, tell)


def compare_evaluation_runs(service: Service, request: CompareEvaluationRunsRequest) -> JsonObject:
    """Returns two runs, the verdict on them, and the evaluations that changed, regressed ones first."""
    app = checked("app", request.parent)
    given = {"baselineRun": request.baseline_run, "candidateRun": request.candidate_run}
    names = []
    for field, text in given.items():
        if not text:
            raise invalid(field, "is required: the name or id of a run")
        names.append(key_text(named_run(app, text, field)))  # as the store has it

    def tell(connection: Connection, compared: Collection[str] | None) -> _SidesTold:
        rows, verdicts = [find_run(connection, name) for name in names], list[_Verdicts]()
        for row in rows:
            state = RunState.of(row)
            if not state.is_counted:
                raise ServiceError("FAILED_PRECONDITION", f"{state.sentence()}, and is not compared")
            counts = count_by_evaluation(connection, row["name"], row["execution"])
            both = {name: (of.get("passedCount", 0), of.get("failedCount", 0)) for name, of in counts.items()}
            verdicts.append(both)
        scored = {name for of_run in verdicts for name in of_run if compared is None or name in compared}
        return run_summaries(connection, app, rows), verdicts, sorted(scored)

    return _comparison(service, request, "run", names, tell)


def _comparison(
    service: Service,
    request: CompareAppVersionsRequest | CompareEvaluationRunsRequest,
    kind: Literal["version", "run"],
    names: Sequence[str],
    tell: Callable[[Connection, Collection[str] | None], _SidesTold],
) -> JsonObject:
    """Returns the answer on two sides; `tell` reads what is told of those evaluations (None: all)."""
    app, title = request.parent, kind.title()
    if names[0] == names[1]:
        raise invalid(f"candidate{title}", f"is the same as baseline{title}; there is nothing to compare")
    identity = (kind, app, *names, request.evaluation_filter)
    paging = read_paging(request.page_size, request.page_token, *identity)
    fields = filter_fields(app)["evaluations"]
    conditions = read_filter("evaluationFilter", request.evaluation_filter, fields)
    columns = EVALUATIONS.c.name, EVALUATIONS.c.display_name
    query = select(*columns).where(EVALUATIONS.c.app == app, *conditions)

    def work(connection: Connection) -> tuple[_SidesTold, dict[str, str], StoredSides]:
        display_names = {name: display_name for name, display_name in connection.execute(query)}
        compared = frozenset(display_names) if conditions else None
        runs = StoredRuns(connection, app)
        summaries = tell(connection, compared)
        try:
            ids = [name or NO_VERSION if kind == "version" else name.rsplit("/", 1)[-1] for name in names]
            return summaries, display_names, runs.sides(ids, service.store.url, compared, kind)
        except ConfigError as error:
            raise ServiceError("NOT_FOUND", str(error)) from None

    keep_summaries(service.store, app)
    ((baseline, candidate), verdicts, evaluations), display_names, sides = service.store.read(work)
    page = _changes_page(verdicts, evaluations, display_names, paging)
    return {"baseline": baseline, "candidate": candidate, "verdict": version_verdict(sides), **page}


def _version_summary(
    version: str, of_version: Collection[VersionSums], no_verdict: int, cases: int
) -> JsonObject:
    sums: Sums = {}
    for evaluation in of_version:
        add_sums(sums, evaluation.sums)
    passes, fails = sum(total.passes for total in of_version), sum(total.fails for total in of_version)
    decided = passes + fails
    message: JsonObject = {"appVersionId": version or NO_VERSION, "evaluationCount": len(of_version)}
    message |= stated({"passCount": passes, "failCount": fails, "noVerdictCount": no_verdict})
    trials = independent_trials(decided, cases, decided + no_verdict)
    if interval := wilson_interval(passes * trials / decided, trials) if decided else None:
        message |= {"passRate": passes / decided, "passRateLow": interval.low, "passRateHigh": interval.high}
    metrics = aggregated_metrics({version: VersionSums(passes, fails, sums)})
    return message | {"metrics": metrics["metricsByAppVersion"][0]}


# What is said of two sides, as `turnwise compare` says it.


def version_verdict(sides: StoredSides) -> JsonObject:
    """Returns the VersionVerdict of baseline and candidate in proto3 JSON."""
    comparison = compare(sides.baseline, sides.candidate, CompareOptions(details=False))
    if changed := settings_problem(sides.baseline, sides.candidate):
        return {"refusal": changed}
    if nothing := nothing_common(comparison):
        return {"refusal": f"nothing to compare: {nothing}"}
    verdicts = next((criterion for criterion in comparison.criteria if criterion.criterion == STATUS), None)
    pairing = comparison.pairing
    page = two_versions(comparison, sides.primary, sides.to_read, NAMED)
    return stated(
        {
            "headline": page.headline,
            "detail": page.detail or None,
            "openReasons": [
                {"conversationCount": of_reason.conversations, "reason": of_reason.reason}
                for of_reason in page.open_reasons
            ],
            **({} if verdicts is None else _difference(verdicts)),
            "pairedBy": pairing.by,
            "changedCaseCount": pairing.changed,
            "changedCases": pairing.changed_names[:_CASES_SHOWN],
            "baselineOnlyCaseCount": pairing.baseline_only,
            "candidateOnlyCaseCount": pairing.candidate_only,
            **_side("baseline", comparison.baseline),
            **_side("candidate", comparison.candidate),
            "criteria": [
                {"criterion": criterion.criterion, **_difference(criterion)}
                for criterion in comparison.criteria
                if criterion is not verdicts
            ],
            "notCompared": [
                {"criterion": name, "reason": reason} for name, reason in comparison.not_compared.items()
            ],
            "notes": comparison.notes,
        }
    )


def _side(name: str, side: Side) -> JsonObject:
    return {
        f"{name}ConversationCount": side.conversations,
        f"{name}NoVerdictCount": side.no_verdict,
        f"{name}RejectedRecordCount": side.rejected,
        f"{name}Problems": side.problems,
    }


def _difference(criterion: CriterionComparison) -> JsonObject:
    overall, bounds, missing = criterion.overall, criterion.overall.interval, criterion.missing
    needed = overall.pairs_needed
    worst, best = (missing.worst_for_candidate, missing.best_for_candidate) if missing else (None, None)
    return stated(
        {
            "word": overall.word,
            "sentence": criterion.sentence,
            "measure": criterion.measure,
            "unit": criterion.unit,
            "pairCount": overall.pairs,
            "baselineValue": overall.baseline_value,
            "candidateValue": overall.candidate_value,
            "difference": overall.difference,
            "differenceLow": bounds.low if bounds else None,
            "differenceHigh": bounds.high if bounds else None,
            "pValue": criterion.p_adjusted,
            "fixedCount": criterion.fixed,
            "regressedCount": criterion.regressed,
            "detectableDifference": overall.detectable,
            "neededPairCount": None if needed is None else min(needed, _MOST),
            "wordIfMissingFail": worst.word if worst else None,
            "wordIfMissingPass": best.word if best else None,
        }
    )


def _changes_page(
    verdicts: Sequence[_Verdicts], names: Iterable[str], display_names: Mapping[str, str], paging: Paging
) -> JsonObject:
    """Returns a page of the evaluations whose share of passed results changed by half or more.

    Regressed ones come first; the counts are of all that have a verdict on a side.
    """
    kinds, changes = Counter[str](), dict[Position, JsonObject]()
    for name in names:
        baseline, candidate = (of_side.get(name, (0, 0)) for of_side in verdicts)
        before, after = sum(baseline), sum(candidate)
        if not before and not after:
            continue
        if not before or not after:
            kind = "onlyBaseline" if before else "onlyCandidate"
        else:
            more = candidate[0] / after - baseline[0] / before
            kind = "unchanged" if abs(more) < LEAST_CHANGE else "fixed" if more > 0 else "regressed"
        kinds[kind] += 1
        if kind in _RANKS:
            change: JsonObject = {"evaluation": name, "displayName": display_names.get(name), "change": kind}
            change |= {"baselinePassCount": baseline[0], "baselineFailCount": baseline[1]}
            change |= {"candidatePassCount": candidate[0], "candidateFailCount": candidate[1]}
            changes[Position(_RANKS[kind], name)] = stated(change)
    left = sorted(position for position in changes if paging.after is None or position > paging.after)
    page = left[: paging.size]
    return {
        **({"changes": [changes[position] for position in page]} if page else {}),
        **stated({f"{kind}Count": kinds[kind] for kind in _KINDS}),
        **next_token(paging, page[-1] if len(left) > len(page) else None),
    }
