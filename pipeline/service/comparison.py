"""Compares two app versions or two runs of an app."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Connection, RowMapping, select

from turnwise.pipeline.report.comparison import nothing_common, ruler_problem
from turnwise.pipeline.runs.store import SideKind, SideName, StoredRuns
from turnwise.pipeline.service.computed_fields import Paging, next_token, read_paging
from turnwise.pipeline.service.evaluations import filter_conditions
from turnwise.pipeline.service.runs import Service, find_run, run_summaries
from turnwise.pipeline.service.serve import ServiceError, field_errors, invalid
from turnwise.pipeline.store.database import EVALUATIONS, Position, key_text, version_id
from turnwise.pipeline.store.rows import EvaluationFigures
from turnwise.pipeline.store.runs import RunState, count_by_evaluation, run_key
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import CompareAppVersionsRequest, CompareEvaluationRunsRequest
from turnwise.schemas.comparison import Comparison, CriterionComparison, Side, Undecided
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.ces.judgements import VersionSums, aggregated_metrics
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.metrics.state import Sums, add_sums
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.tests import wilson_interval


class Verdicts(NamedTuple):
    """Numbers of results of an evaluation that passed and that failed."""

    passes: int = 0
    fails: int = 0

    @property
    def decided(self) -> int:
        """Number of results with a verdict."""
        return self.passes + self.fails


class EvaluationPair(NamedTuple):
    """The verdicts of one evaluation on both sides."""

    evaluation: str
    base: Verdicts
    candidate: Verdicts

    @property
    def change(self) -> Literal["REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate", ""]:
        """How the share of passed results changed; "": neither side has a verdict."""
        base, candidate = self.base.decided, self.candidate.decided
        if not base or not candidate:
            return "onlyBase" if base else "onlyCandidate" if candidate else ""
        # Shares are compared without dividing.
        before, after = self.base.passes * candidate, self.candidate.passes * base
        return "unchanged" if before == after else "REGRESSED" if after < before else "IMPROVED"


_MOST = 2**31 - 1
_RANKS: dict[str, int] = {"REGRESSED": 1, "IMPROVED": 2}
_TwoSides = tuple[ComparedSide, ComparedSide]
_Stored = tuple[dict[str, EvaluationFigures], dict[str, str], _TwoSides]


def _sides(
    runs: StoredRuns, kind: SideKind, names: Sequence[str], source: str, evaluations: Collection[str] | None
) -> _TwoSides:
    """Returns base and candidate; raises ServiceError if one has no results."""
    try:
        return runs.sides([SideName(name, kind) for name in names], source, evaluations)
    except ConfigError as error:
        raise ServiceError("NOT_FOUND", str(error)) from None


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
    figures, display_names, sides = _read_versions(service, app, request.evaluation_filter, (base, candidate))
    pairs = [
        EvaluationPair(name, _verdicts_of(own, base), _verdicts_of(own, candidate))
        for name, own in figures.items()
    ]
    return {
        "base": _version_summary(figures, base),
        "candidate": _version_summary(figures, candidate),
        "verdict": version_verdict(*sides),
        **changes_page(pairs, display_names, paging),
    }


def _read_versions(service: Service, app: str, evaluation_filter: str, versions: tuple[str, str]) -> _Stored:
    """Returns figures and display names of the evaluations that match a filter, and both sides.

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
        compared = frozenset(found) if conditions else None
        return figures, found, _sides(runs, "version", versions, service.store.url, compared)

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


def _version_summary(figures: Mapping[str, EvaluationFigures], version: str) -> JsonObject:
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


class _ReadRuns(NamedTuple):
    """What is read of two runs."""

    base: JsonObject
    candidate: JsonObject
    pairs: list[EvaluationPair]
    display_names: dict[str, str]
    sides: _TwoSides


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
        "verdict": version_verdict(*found.sides),
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


def _read_runs(service: Service, app: str, evaluation_filter: str, names: tuple[str, str]) -> _ReadRuns:
    conditions = filter_conditions(app, evaluation_filter)
    of_app = select(EVALUATIONS.c.name, EVALUATIONS.c.display_name).where(
        EVALUATIONS.c.app == app, *conditions
    )

    def work(connection: Connection) -> _ReadRuns:
        display_names = {name: display_name for name, display_name in connection.execute(of_app)}
        rows = [_ended(find_run(connection, name)) for name in names]
        base, candidate = (_verdicts(connection, row) for row in rows)
        compared = {*base, *candidate} & ({*display_names} if conditions else {*base, *candidate})
        pairs = [
            EvaluationPair(name, base.get(name, Verdicts()), candidate.get(name, Verdicts()))
            for name in sorted(compared)
        ]
        ids = [name.rsplit("/", 1)[-1] for name in names]
        evaluations = frozenset(display_names) if conditions else None
        sides = _sides(StoredRuns(connection, app), "run", ids, service.store.url, evaluations)
        told = run_summaries(connection, app, rows)
        return _ReadRuns(told[0], told[1], pairs, display_names, sides)

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


# What is said of two sides, as `turnwise compare` says it.


def version_verdict(a: ComparedSide, b: ComparedSide) -> JsonObject:
    """Returns the VersionVerdict of base and candidate in proto3 JSON."""
    found = compare(a, b, CompareOptions(details=False))
    changed = ruler_problem(found.ruler)
    if changed:
        return {"refusal": f"{changed}; score one of them again"}
    nothing = nothing_common(found)
    return {"refusal": f"nothing to compare: {nothing}"} if nothing else _told(found)


def _told(found: Comparison) -> JsonObject:
    own = next((one for one in found.criteria if one.criterion == STATUS), None)
    pairing = found.pairing
    return _stated(
        {
            **({} if own is None else _difference(own)),
            "pairedBy": pairing.by,
            "changedCaseCount": pairing.changed,
            "changedCases": pairing.changed_names,
            "baseOnlyCaseCount": pairing.only_a,
            "candidateOnlyCaseCount": pairing.only_b,
            **_side("base", found.a),
            **_side("candidate", found.b),
            "criteria": [
                {"criterion": one.criterion, **_difference(one)} for one in found.criteria if one is not own
            ],
            "notCompared": [
                {"criterion": name, "reason": reason} for name, reason in found.not_compared.items()
            ],
            "notes": found.notes,
        }
    )


def _side(name: str, side: Side) -> JsonObject:
    counts = {"Conversation": side.conversations, "Undecided": side.undecided, "LostRecord": side.lost}
    return {f"{name}{what}Count": number for what, number in counts.items()} | {
        f"{name}Problems": side.problems
    }


def _difference(own: CriterionComparison) -> JsonObject:
    found, bounds = own.overall, own.overall.interval
    needed = found.pairs_needed
    return _stated(
        {
            "word": found.word,
            "sentence": own.sentence,
            "measure": own.measure,
            "unit": own.unit,
            "pairCount": found.pairs,
            "baseValue": found.value_a,
            "candidateValue": found.value_b,
            "difference": found.difference,
            "differenceLow": bounds.low if bounds else None,
            "differenceHigh": bounds.high if bounds else None,
            "pValue": own.p_adjusted,
            "gainedCount": own.gained,
            "lostCount": own.lost,
            "detectableDifference": found.detectable,
            "neededPairCount": None if needed is None else min(needed, _MOST),
            **(_undecided(own.undecided) if own.undecided else {}),
        }
    )


def _undecided(undecided: Undecided) -> JsonObject:
    readings = {"wordIfUndecidedFail": undecided.worst_for_b, "wordIfUndecidedPass": undecided.best_for_b}
    return {name: reading.word for name, reading in readings.items() if reading is not None}


def _stated(fields: JsonObject) -> JsonObject:
    """Leaves out what is not known, counts of 0 and empty lists."""
    is_count = ("Count", "Cases", "Problems", "criteria", "notCompared", "notes")
    return {
        name: value
        for name, value in fields.items()
        if value is not None and (value or not name.endswith(is_count))
    }


def changes_page(
    pairs: Iterable[EvaluationPair], display_names: Mapping[str, str], paging: Paging
) -> JsonObject:
    """Returns a page of the changed evaluations, regressed ones first, and the counts of all."""
    found = list(pairs)
    changes = sorted((pair for pair in found if pair.change in _RANKS), key=_place)
    left = [pair for pair in changes if paging.after is None or _place(pair) > paging.after]
    page = left[: paging.size]
    return {
        **({"changes": [_change(pair, display_names) for pair in page]} if page else {}),
        **_counts(found),
        **next_token(paging, _place(page[-1]) if len(left) > len(page) else None),
    }


def _place(pair: EvaluationPair) -> Position:
    return Position(_RANKS[pair.change], pair.evaluation)


def _counts(pairs: Sequence[EvaluationPair]) -> JsonObject:
    changes: list[str] = [pair.change for pair in pairs]
    kinds = ("REGRESSED", "IMPROVED", "unchanged", "onlyBase", "onlyCandidate")
    names = ("regressedCount", "improvedCount", "unchangedCount", "onlyBaseCount", "onlyCandidateCount")
    counts = {name: changes.count(kind) for name, kind in zip(names, kinds, strict=True)}
    return {name: count for name, count in counts.items() if count}


def _change(pair: EvaluationPair, display_names: Mapping[str, str]) -> JsonObject:
    counts = {
        "basePassCount": pair.base.passes,
        "baseFailCount": pair.base.fails,
        "candidatePassCount": pair.candidate.passes,
        "candidateFailCount": pair.candidate.fails,
    }
    return {
        "evaluation": pair.evaluation,
        **({"displayName": display_names[pair.evaluation]} if pair.evaluation in display_names else {}),
        "change": pair.change,
        **{name: count for name, count in counts.items() if count},
    }
